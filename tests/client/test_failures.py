"""What goes wrong is one plain sentence and the right exit code, never a traceback."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podium import errors
from podium.rpc import connection
from tests.client.fake_daemon import (
    FakeDaemon,
    HangUp,
    Refused,
    environment,
    podium,
)
from tests.patience import HANG_SECONDS

HELD = {"session_id": "fedf9e6c-0f33"}
AGAIN = "try again when it is done, or"
SHOW = "'podium show"
TREE = "'podium attach d0544330', or '--worktree' for a checkout of the run's own"

UNKNOWN_AGENT = Refused(
    -32005,
    "Agent 'cluade' cannot be used: there is no such agent. The nearest is 'claude'; there are: "
    "claude, native.",
    {"agent": "cluade", "known": ["claude", "native"]},
)

NEEDING_THE_DAEMON = [
    ["status"],
    ["runs", "--all"],
    ["runs", "show", "1a"],
    ["runs", "log", "1a"],
    ["attach", "1a"],
    ["questions"],
    ["answer", "9u", "yes"],
    ["pause", "1a"],
    ["steer", "1a", "words"],
    ["run", "fix-it"],
    ["prompt", "words"],
    ["recipe", "list"],
    ["recipe", "show", "fix-it"],
    ["orchestration", "off"],
    ["locks"],
    ["sessions"],
    ["sessions", "--forget", "5e55"],
    ["show", "5e55"],
    ["show", "5e55", "--follow"],
    ["rpc", "daemon.ping"],
]


@pytest.mark.parametrize("command", NEEDING_THE_DAEMON, ids=" ".join)
def test_without_a_daemon_every_command_names_the_one_that_starts_it(
    tmp_path: Path, command: list[str]
) -> None:
    path = tmp_path / "podium.sock"

    done = podium(path, *command)

    assert done.returncode == 6
    assert done.stdout == ""
    assert done.stderr == (
        f"podium: The daemon is not running (nothing answers at {path}): "
        "start it with 'podium up'.\n"
    )


def test_a_dead_daemons_socket_is_no_daemon(daemon: FakeDaemon) -> None:
    assert daemon._listener is not None
    daemon._listener.shutdown(2)

    assert podium(daemon, "status").returncode == 6


def test_a_socket_path_that_is_too_long_says_so(tmp_path: Path) -> None:
    done = podium(tmp_path / ("x" * 200), "status")

    assert done.returncode == 1
    assert "too long" in done.stderr
    assert "PODIUM_SOCKET" in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (b"", "closed the connection"),
        (b'{"jsonrpc": "2.0", "id": 1, "resu', "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n", "does not speak Podium's protocol"),
        (b"\xff\xfe\n", "does not speak Podium's protocol"),
        (b"[" * 200_000 + b"\n", "does not speak Podium's protocol"),
        (b"[1]\n", "does not speak Podium's protocol"),
        (b"{} {}\n", "does not speak Podium's protocol"),
        (b'{"id": 1, "error": "no"}\n', "refused without a reason"),
    ],
)
def test_what_is_no_answer_is_told_plainly(daemon: FakeDaemon, words: bytes, expected: str) -> None:
    def answer(params: dict[str, Any]) -> None:
        raise HangUp(words)

    daemon.answers["daemon.status"] = answer

    done = podium(daemon, "status")

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert expected in done.stderr


def test_a_refusal_is_the_daemons_own_sentence_on_one_line(daemon: FakeDaemon) -> None:
    def refuse(params: dict[str, Any]) -> None:
        raise Refused(-32002, "There is no run '1a'.\n\x1b[2J")

    daemon.answers |= {"runs.list": [], "runs.get": refuse}

    done = podium(daemon, "runs", "show", "1a")

    assert (done.returncode, done.stderr) == (1, "podium: There is no run '1a'. \\x1b[2J.\n")


@pytest.mark.parametrize(
    ("code", "message", "data", "sentence", "exit_code"),
    [
        (-32602, "Invalid params: the text is empty", {}, "The text is empty.", 1),
        (
            -32602,
            "parameter 'task' is missing: it needs a text",
            {"parameter": "params"},
            "Parameter 'task' is missing: it needs a text.",
            2,
        ),
        (-32602, "'x' is no answer.", {"parameter": "answer"}, "'x' is no answer.", 1),
        (
            -32602,
            "Parameter 'run_id': expected an id or its beginning: letters, digits, got ''.",
            {"parameter": "run_id"},
            (
                "'' names no run: its id or the beginning of it does, which is letters, digits, "
                "'-' and '_'. 'podium runs --all' lists what there is."
            ),
            1,
        ),
        (-32005, "No agent", {"fix": "Install it"}, "No agent. Install it.", 1),
        (-32005, "No agent: install it.", {"fix": "install it."}, "No agent: install it.", 1),
        (
            -32002,
            "There is no run '1a'.",
            {"kind": "run", "id": "1a"},
            "There is no run '1a'. 'podium runs --all' lists what there is.",
            1,
        ),
        (
            -32002,
            "There is no session '5e55'.",
            {"kind": "session", "id": "5e55"},
            "There is no session '5e55'. 'podium sessions' lists what there is.",
            1,
        ),
        (
            -32001,
            "fedf9e6c-0f33 is held by a prompt (d0544330-aaaa).",
            HELD | {"holder": {"kind": "prompt", "id": "d0544330-aaaa"}},
            f"Session fedf9e6c is held by prompt d0544330: {AGAIN} {SHOW} fedf9e6c --follow'.",
            5,
        ),
        (
            -32001,
            "fedf9e6c-0f33 is held by a run (d0544330-aaaa).",
            HELD | {"holder": {"kind": "run", "id": "d0544330-aaaa"}},
            f"Session fedf9e6c is held by run d0544330: {AGAIN} 'podium attach d0544330'.",
            5,
        ),
        (
            -32001,
            "/home/ada/shop is held by a run (d0544330-aaaa).",
            {"working_directory": "/home/ada/shop", "holder": {"kind": "run", "id": "d0544330-a"}},
            f"The working tree /home/ada/shop is held by run d0544330: {AGAIN} {TREE}.",
            5,
        ),
        (
            -32001,
            "fedf9e6c-0f33 is held by another program (pid 7).",
            HELD | {"holder": {"kind": "foreign", "pid": 7}},
            "fedf9e6c-0f33 is held by another program (pid 7).",
            5,
        ),
        (
            -32005,
            "voice.model: there is no model 'basse'. Name one of: base.",
            {"fix": "voice.model: there is no model 'basse'. Name one of: base."},
            "voice.model: there is no model 'basse'. Name one of: base.",
            1,
        ),
    ],
)
def test_a_refusal_is_a_sentence_with_its_fix_and_without_the_protocols_words(
    daemon: FakeDaemon, code: int, message: str, data: Any, sentence: str, exit_code: int
) -> None:
    def refuse(params: dict[str, Any]) -> None:
        raise Refused(code, message, data)

    daemon.answers["runs.start"] = refuse

    done = podium(daemon, "run", "fix-it")

    assert (done.returncode, done.stderr) == (exit_code, f"podium: {sentence}\n")


def test_a_prompt_for_a_held_session_is_shown_how_it_waits(daemon: FakeDaemon) -> None:
    def refuse(params: dict[str, Any]) -> None:
        holder = {"kind": "run", "id": "d0544330-aaaa"}
        raise Refused(-32001, "The session is held.", HELD | {"holder": holder})

    daemon.answers["sessions.prompt"] = refuse

    done = podium(daemon, "prompt", "hi", "--session", "fedf9e6c")

    assert done.returncode == 5
    assert done.stderr == (
        f"podium: Session fedf9e6c is held by run d0544330: {AGAIN} 'podium attach d0544330', "
        "or '--if-busy queue' to send it then.\n"
    )


def test_a_daemon_that_turns_the_client_away_at_the_door_is_quoted(daemon: FakeDaemon) -> None:
    def turn_away(params: dict[str, Any]) -> None:
        raise HangUp(b'{"id": null, "error": {"code": -32008, "message": "Too many."}}\n')

    daemon.answers["daemon.status"] = turn_away

    assert podium(daemon, "status").stderr == "podium: Too many.\n"


def test_a_call_waits_only_so_long(daemon: FakeDaemon) -> None:
    daemon.answers["never.answered"] = lambda params: daemon._changed.wait(0)
    client = connection.Connection(str(daemon.path))
    try:
        with daemon._changed, pytest.raises(errors.Failure, match=r"within 0\.01 s"):
            client.ask("never.answered", seconds=0.01)
    finally:
        client.close()


def test_a_request_that_the_daemon_would_not_read_is_not_sent(daemon: FakeDaemon) -> None:
    done = podium(daemon, "prompt", "-", stdin=b"x" * (17 * 2**20))

    assert (done.returncode, daemon.calls) == (1, [])
    assert done.stderr == (
        "podium: The request has 17.0 MiB, and the daemon takes 16 at most: save long texts as "
        "files and name the files.\n"
    )


def test_a_closed_pipe_is_no_error(daemon: FakeDaemon) -> None:
    daemon.answers["runs.list"] = [{"run_id": "x" * 100_000}]
    with subprocess.Popen(
        [sys.executable, "-m", "podium", "runs", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(daemon.path),
    ) as client:
        assert client.stdout is not None
        assert client.stderr is not None
        client.stdout.close()
        assert client.stderr.read() == b""
        assert client.wait(HANG_SECONDS) == 0


def test_a_locale_without_the_characters_costs_only_the_characters(daemon: FakeDaemon) -> None:
    daemon.answers |= {"questions.list": [{"text": "Grüße ✓"}], "daemon.status": {}}

    done = podium(daemon, "questions", PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert "Gr\\xfc\\xdfe \\u2713" in done.stdout


def test_words_that_are_no_text_are_a_usage_error(daemon: FakeDaemon) -> None:
    done = subprocess.run(
        [sys.executable.encode(), b"-m", b"podium", b"prompt", b"\xff\xfe"],
        capture_output=True,
        env=environment(daemon.path),
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr == b"podium: The text is not valid UTF-8: convert it first.\n"


def test_a_file_that_is_missing_is_named(daemon: FakeDaemon) -> None:
    done = podium(daemon, "recipe", "outcome", "fix-it", "fix", "/nowhere/reply.txt")

    assert done.returncode == 1
    assert done.stderr == "podium: /nowhere/reply.txt: No such file or directory.\n"


def test_a_fault_of_the_client_is_a_sentence_too(daemon: FakeDaemon) -> None:
    daemon.answers["runs.list"] = 7

    done = subprocess.run(
        [sys.executable, "-m", "podium", "runs"],
        capture_output=True,
        text=True,
        env=environment(daemon.path),
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "PODIUM_DEBUG=1" in done.stderr


@pytest.mark.parametrize(
    ("method", "command"),
    [("runs.start", ["run", "fix-it"]), ("sessions.prompt", ["prompt", "hi"])],
)
def test_an_agent_that_there_is_not_is_a_slip_of_the_person(
    daemon: FakeDaemon, method: str, command: list[str]
) -> None:
    def refuse(_params: Any) -> Any:
        raise UNKNOWN_AGENT

    daemon.answers[method] = refuse

    done = podium(daemon, *command, "--agent", "cluade")

    assert (done.returncode, done.stdout) == (2, "")
    assert "The nearest is 'claude'; there are: claude, native." in done.stderr


@pytest.mark.parametrize(
    ("words", "method", "parameter", "said", "told"),
    [
        (
            ["pair", "--name", "A"],
            "gateway.pair",
            "name",
            "a device 'A' is paired already: take another name.",
            "--name: a device 'A' is paired already: take another name.",
        ),
        (
            ["pair", "--name", " A "],
            "gateway.pair",
            "name",
            "expected 1 to 64 printable characters without blanks around them.",
            (
                "--name takes 1 to 64 printable characters without blanks around them: "
                "see 'podium pair --help'."
            ),
        ),
        (
            ["run", "x/y"],
            "runs.start",
            "recipe",
            "expected a name of letters, digits, '-', '_' and '.', got 'x/y'.",
            (
                "RECIPE takes a name of letters, digits, '-', '_' and '.', not 'x/y': "
                "'podium recipe list' lists what there is."
            ),
        ),
        (
            ["run", "a", "--model", "a b"],
            "runs.start",
            "model",
            "expected the agent's own word for a model, no spaces or null, got 'a b'.",
            (
                "--model takes the agent's own word for a model, no spaces, not 'a b': "
                "see 'podium run --help'."
            ),
        ),
        (
            ["recipe", "show", "a b"],
            "recipes.get",
            "id",
            "expected a name of letters, digits, '-', '_' and '.', got 'a b'.",
            (
                "NAME takes a name of letters, digits, '-', '_' and '.', not 'a b': "
                "'podium recipe list' lists what there is."
            ),
        ),
    ],
)
def test_a_wrong_value_is_told_by_the_commands_own_name_for_it(
    daemon: FakeDaemon, words: list[str], method: str, parameter: str, said: str, told: str
) -> None:
    message = f"Invalid params: parameter '{parameter}': {said}"

    def refuse(params: Any) -> Any:
        raise Refused(-32602, message, {"parameter": parameter})

    daemon.answers[method] = refuse
    done = podium(daemon, *words)
    assert (done.stderr, done.returncode) == (f"podium: {told}\n", 2)
