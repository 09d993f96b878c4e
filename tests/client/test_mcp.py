"""``podium mcp``: lines through to the daemon and replies back, with the token of a turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.client.fake_daemon import (
    FakeDaemon,
    Json,
    Refused,
    environment,
    podium,
)
from tests.client.mcp_agent import TOKEN, agent, deliveries, echo, reply, request
from tests.client.test_imports import HEAVY, LOADED
from tests.patience import HANG_SECONDS

# -- through -----------------------------------------------------------------------------------


def test_each_line_goes_to_the_daemon_as_it_is_and_its_reply_comes_back(
    daemon: FakeDaemon,
) -> None:
    daemon.answers["mcp.message"] = echo
    line = '{"jsonrpc": "2.0",  "id": "\u00e9\\ud83d\\ude00", "method": "ping"}'

    with agent(daemon) as it:
        it.say(line.encode(), request(2))
        assert [it.hear(), it.hear()] == [reply("\u00e9\U0001f600"), reply(2)]
        assert it.end() == (0, b"")

    first, second = daemon.params_of("mcp.message")
    assert first["message"] == line
    assert first["token"] == second["token"] == TOKEN


def test_a_notification_gets_no_reply_and_a_blank_line_goes_nowhere(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo

    with agent(daemon) as it:
        it.say({"jsonrpc": "2.0", "method": "notifications/initialized"}, b"", b" \r", request(1))
        assert it.hear() == reply(1)
        assert it.end() == (0, b"")

    assert len(daemon.params_of("mcp.message")) == 2


def test_what_came_before_the_end_of_the_input_is_still_answered(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo
    given = json.dumps(request(1)) + "\n" + json.dumps(request(2))

    done = podium(daemon, "mcp", stdin=given.encode(), PODIUM_TOOLS_TOKEN=TOKEN)

    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [reply(1), reply(2)]


def test_a_reply_does_not_wait_for_those_before_it(daemon: FakeDaemon) -> None:
    held: list[int] = []

    def later(params: Json) -> Json:
        if json.loads(params["message"])["id"] == "slow" and not held:
            held.append(1)
            raise Refused(-32008, "Busy.", {"retry_after_ms": 300})
        return echo(params)

    daemon.answers["mcp.message"] = later
    with agent(daemon) as it:
        it.say(request("slow"), request("quick"))
        assert [it.hear(), it.hear()] == [reply("quick"), reply("slow")]


def test_every_line_of_every_process_has_a_name_of_its_own(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo
    for _ in range(2):
        with agent(daemon) as it:
            it.say(request(1), request(1))
            assert [it.hear(), it.hear()] == [reply(1), reply(1)]

    names = deliveries(daemon)
    assert len(set(names)) == 4
    assert all(len(name) >= 24 for name in names)


# -- the token ---------------------------------------------------------------------------------


def test_without_a_token_one_sentence_says_what_is_missing(daemon: FakeDaemon) -> None:
    for settings in ({}, {"PODIUM_TOOLS_TOKEN": ""}):
        done = podium(daemon, "mcp", settings=settings)

        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "podium: PODIUM_TOOLS_TOKEN is not set: 'podium mcp' is started by the agent of a "
            "turn, which gets that from the daemon.\n"
        )
    assert daemon.calls == []


def test_the_token_is_in_no_argument_and_cannot_be_given_as_one(daemon: FakeDaemon) -> None:
    done = podium(daemon, "mcp", "--token", TOKEN)

    assert done.returncode == 2
    assert "does not take" in done.stderr


def test_a_refused_token_is_told_to_the_agent_for_each_of_its_requests(
    daemon: FakeDaemon,
) -> None:
    def refuse(params: Json) -> Json:
        raise Refused(-32006, "The token opens no tools.", {"reason": "r"})

    daemon.answers["mcp.message"] = refuse
    error = {"code": -32006, "message": "The token opens no tools."}
    with agent(daemon) as it:
        it.say(
            request(1),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            [request(2), {"jsonrpc": "2.0", "method": "x"}, request(3)],
            b"no json",
        )
        heard = [it.hear() for _ in range(3)]
        assert it.end() == (0, b"")

    single = {"jsonrpc": "2.0", "error": error}
    assert heard == [
        single | {"id": 1},
        [single | {"id": 2}, single | {"id": 3}],
        single | {"id": None},
    ]


def test_an_error_of_another_kind_is_an_internal_one_to_the_agent(daemon: FakeDaemon) -> None:
    with agent(daemon) as it:  # a daemon from before there was this method
        it.say(request(1))
        heard = it.hear()

    assert heard["error"] == {"code": -32603, "message": "There is no method 'mcp.message'."}


# -- bounds and ends ---------------------------------------------------------------------------


def test_a_line_beyond_all_bounds_is_refused_and_the_next_one_is_read(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo
    huge = b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + b"x" * (17 * 1024 * 1024) + b'"}'

    done = podium(
        daemon,
        "mcp",
        stdin=huge + b"\n" + json.dumps(request(2)).encode(),
        PODIUM_TOOLS_TOKEN=TOKEN,
    )

    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["id"], first["error"]["message"]) == (None, "The line is too long.")
    assert second == reply(2)


def test_a_line_that_is_too_long_for_the_socket_is_refused_under_its_id(
    daemon: FakeDaemon,
) -> None:
    escaped = json.dumps(request("long") | {"x": "\u20ac" * (3 * 1024 * 1024)}, ensure_ascii=False)

    done = podium(daemon, "mcp", stdin=escaped.encode(), PODIUM_TOOLS_TOKEN=TOKEN)

    said = json.loads(done.stdout)
    assert said["id"] == "long"
    assert "the daemon takes 16 at most" in said["error"]["message"]


def test_so_many_lines_wait_and_the_rest_is_left_with_the_agent(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo
    lines = b"".join(json.dumps(request(number)).encode() + b"\n" for number in range(500))

    done = podium(daemon, "mcp", stdin=lines, PODIUM_TOOLS_TOKEN=TOKEN)

    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == list(range(500))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it(daemon: FakeDaemon, number: signal.Signals) -> None:
    daemon.answers["mcp.message"] = echo
    with agent(daemon) as it:
        it.say(request(1))
        assert it.hear() == reply(1)
        it.process.send_signal(number)
        assert it.process.wait(HANG_SECONDS) == -number


def test_an_agent_that_does_not_listen_any_more_ends_it(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo
    with agent(daemon) as it:
        assert it.process.stdout is not None
        it.process.stdout.close()
        it.say(request(1))
        assert it.process.wait(HANG_SECONDS) == 0


def test_an_output_that_does_not_block_gets_every_byte(daemon: FakeDaemon) -> None:
    text = "x" * 1_000_000
    daemon.answers["mcp.message"] = lambda params: {
        "reply": {"jsonrpc": "2.0", "id": 1, "result": {"text": text}}
    }
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "mcp"],
        stdin=subprocess.PIPE,
        stdout=writing,
        env=environment(daemon.path, PODIUM_TOOLS_TOKEN=TOKEN),
    )
    os.close(writing)
    assert process.stdin is not None
    with process, process.stdin, open(reading, "rb") as out:
        process.stdin.write(json.dumps(request(1)).encode() + b"\n")
        process.stdin.close()
        assert json.loads(out.read())["result"]["text"] == text


def test_it_loads_nothing_heavy(daemon: FakeDaemon) -> None:
    daemon.answers["mcp.message"] = echo
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "mcp"],
        input=json.dumps(request(1)).encode(),
        capture_output=True,
        check=True,
        env=environment(daemon.path, PODIUM_TOOLS_TOKEN=TOKEN),
    )

    assert json.loads(done.stdout) == reply(1)
    assert not set(done.stderr.decode().split()) & (HEAVY | {"argparse", "json", "re", "enum"})
