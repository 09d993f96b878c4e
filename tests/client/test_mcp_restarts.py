"""``podium mcp`` while the daemon restarts: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

from tests.client.fake_daemon import (
    FakeDaemon,
    HangUp,
    Json,
    Refused,
    environment,
    podium,
)
from tests.client.mcp_agent import TOKEN, agent, deliveries, echo, reply, request
from tests.patience import HANG_SECONDS


def test_a_call_that_the_daemon_died_over_is_sent_again_under_the_same_name(
    daemon: FakeDaemon,
) -> None:
    asked = threading.Event()

    def die(params: Json) -> Json:
        asked.set()
        raise HangUp

    daemon.answers["mcp.message"] = die
    with agent(daemon) as it:
        it.say(request(1), request(2))
        assert asked.wait(HANG_SECONDS)
        daemon.stop()
        daemon.answers["mcp.message"] = echo
        daemon.listen()
        assert [it.hear(), it.hear()] == [reply(1), reply(2)]

    names = deliveries(daemon)
    assert len(set(names)) == 2
    assert len(names) > 2


def test_a_daemon_that_says_that_it_stops_has_answered_nothing_by_that(
    daemon: FakeDaemon,
) -> None:
    stopping = json.dumps({"jsonrpc": "2.0", "method": "daemon.stopping", "params": {}})
    times: list[int] = []

    def stop(params: Json) -> Json:
        times.append(1)
        if len(times) == 1:
            raise HangUp(stopping.encode() + b"\n")
        return echo(params)

    daemon.answers["mcp.message"] = stop
    with agent(daemon) as it:
        it.say(request(1))
        assert it.hear() == reply(1)

    assert len(times) == 2


def test_a_daemon_that_is_not_there_yet_is_waited_for(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo
    daemon.stop()
    with agent(daemon) as it:
        it.say(request(1))
        daemon.listen()
        assert it.hear() == reply(1)


def test_a_connection_that_was_lost_in_between_is_not_missed(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo
    with agent(daemon) as it:
        it.say(request(1))
        assert it.hear() == reply(1)
        daemon.drop()
        it.say(request(2))
        assert it.hear() == reply(2)


def test_a_daemon_without_room_is_asked_again_later(daemon: FakeDaemon) -> None:
    full = [True, True]

    def busy(params: Json) -> Json:
        if full:
            full.pop()
            line = {"code": -32008, "message": "Too many connections.", "data": {}}
            line["data"] = {"retry_after_ms": 10}
            raise HangUp(json.dumps({"jsonrpc": "2.0", "id": None, "error": line}).encode() + b"\n")
        return echo(params)

    daemon.answers["mcp.message"] = busy
    with agent(daemon) as it:
        it.say(request(1))
        assert it.hear() == reply(1)

    assert len(set(deliveries(daemon))) == 1


IMPATIENT = """
import sys
from podium import mcp
mcp.PATIENCE_SECONDS = 0.2
mcp.LAST_SECONDS = float(sys.argv[1])
sys.exit(mcp.serve())
"""


def impatient(
    path: Path, given: bytes, last_seconds: float = 10.0
) -> subprocess.CompletedProcess[bytes]:
    """Run it with bounds that a test can wait for."""
    return subprocess.run(
        [sys.executable, "-c", IMPATIENT, str(last_seconds)],
        input=given,
        capture_output=True,
        env=environment(path, PODIUM_TOOLS_TOKEN=TOKEN),
        timeout=HANG_SECONDS,
        check=True,
    )


def test_a_daemon_that_does_not_come_back_is_given_up_in_the_end(tmp_path: Path) -> None:
    done = impatient(tmp_path / "podium.sock", json.dumps(request(1)).encode() + b"\n")

    assert json.loads(done.stdout) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32603, "message": "Podium's daemon did not answer for 0.2 s."},
    }


def test_a_daemon_that_never_has_room_is_given_up_too(daemon: FakeDaemon) -> None:
    def busy(params: Json) -> Json:
        raise Refused(-32008, "Busy.", {"retry_after_ms": 50})

    daemon.answers["mcp.message"] = busy
    done = impatient(daemon.path, json.dumps(request(1)).encode() + b"\n")

    assert "did not answer" in json.loads(done.stdout)["error"]["message"]


def test_after_the_end_of_the_input_replies_are_waited_for_so_long_and_no_longer(
    tmp_path: Path,
) -> None:
    done = impatient(tmp_path / "podium.sock", json.dumps(request(1)).encode() + b"\n", 0.0)

    assert done.stdout == b""


def test_a_socket_that_can_never_be_reached_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 200)
    with_token = {"PODIUM_TOOLS_TOKEN": TOKEN}
    done = podium(path, "mcp", stdin=json.dumps(request(1)).encode(), settings=with_token)

    assert "too long for this platform" in json.loads(done.stdout)["error"]["message"]
