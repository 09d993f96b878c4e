"""A word with the daemon, whatever stands at its socket: an answer, or the sign of none."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from podiumd.service import daemon_link
from podiumd.service.daemon_link import DaemonLink, NoDaemon
from tests.patience import HANG_SECONDS

NOTICE = b'{"jsonrpc": "2.0", "method": "daemon.stopping"}\n'


def answer(result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n"


@contextmanager
def peer(path: Path, act: Callable[[socket.socket], object]) -> Iterator[None]:
    """Something that takes one request at the socket, and then acts."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                act(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join(HANG_SECONDS)


@pytest.mark.parametrize(
    ("said", "result"),
    [
        pytest.param(answer({"pid": 7}), {"pid": 7}, id="its result"),
        pytest.param(NOTICE + answer({"pid": 7}), {"pid": 7}, id="behind a notice"),
        pytest.param(b'{"id": 1, "error": {}}\n', None, id="a refusal"),
        pytest.param(NOTICE, None, id="a notice alone"),
    ],
)
def test_an_answer_is_read(tmp_path: Path, said: bytes, result: object) -> None:
    path = tmp_path / "s"
    with peer(path, lambda one: one.sendall(said)), DaemonLink(path, HANG_SECONDS) as link:
        assert link.call("daemon.status") == result


@pytest.mark.parametrize("said", [b"", b'{"id": 1, "resu'])
def test_one_that_closes_before_its_answer_is_none(tmp_path: Path, said: bytes) -> None:
    path = tmp_path / "s"
    with (
        peer(path, lambda one: one.sendall(said)),
        DaemonLink(path, HANG_SECONDS) as link,
        pytest.raises(NoDaemon) as none,
    ):
        link.call("daemon.status")
    assert none.value.reason == "it closed the connection without an answer"
    assert str(none.value) == f"{path}: {none.value.reason}"


def test_one_that_says_nothing_is_waited_for_as_long_as_is_given(tmp_path: Path) -> None:
    done, path = threading.Event(), tmp_path / "s"
    with peer(path, lambda _: done.wait(HANG_SECONDS)), DaemonLink(path, 0.01) as link:
        with pytest.raises(NoDaemon, match="timed out"):
            link.call("daemon.status")
        done.set()


def test_an_answer_without_end_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_link, "_MOST_BYTES", 1000)
    done, path = threading.Event(), tmp_path / "s"

    def flood(one: socket.socket) -> None:
        one.sendall(b"x" * 5000)
        done.wait(HANG_SECONDS)

    with peer(path, flood), DaemonLink(path, HANG_SECONDS) as link:
        with pytest.raises(NoDaemon, match="without an answer"):
            link.call("daemon.status")
        done.set()


def test_where_nothing_listens_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon, match="s: No such file or directory"):
        DaemonLink(tmp_path / "s", 1.0)
