"""What has arrived together with an answer is noticed, though the socket stays silent after it."""

import json
import select
import socket
import threading
from pathlib import Path

from podium.rpc.connection import Connection


def test_a_notification_in_the_same_piece_as_the_answer_is_known_to_be_unread(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    answered = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}})
    told = json.dumps({"jsonrpc": "2.0", "method": "run.event", "params": {"seq": 1}})

    def serve() -> None:
        client, _ = listener.accept()
        with client, client.makefile("rb") as lines:
            lines.readline()
            client.sendall(f"{answered}\n{told}\n".encode())
            lines.readline()

    server = threading.Thread(target=serve)
    server.start()
    connection = Connection(str(path))
    connection.call("runs.events", {"run_id": "1a2b"})

    assert not select.select([connection], [], [], 0)[0]
    assert connection.unread
    assert [message["method"] for message in connection.notifications()] == ["run.event"]
    assert not connection.unread

    connection.close()
    server.join()
    listener.close()
