"""``status``, ``runs``, ``questions`` and ``locks``."""

import json
from typing import Any

import pytest

from podium import __version__
from podium.__main__ import main
from podium.cli import dispatch
from tests.client import stories
from tests.client.conversations import row
from tests.client.fake_daemon import RUN_ID, FakeDaemon, podium

STATUS: dict[str, Any] = {
    "version": __version__,
    "pid": 4711,
    "started_at": "2026-05-01T10:00:00.000Z",
    "socket": "/run/user/1000/podium/podium.sock",
    "gateway": {"enabled": True, "url": "ws://127.0.0.1:8080", "clients": 1},
    "sessions": 12,
    "runs_active": 1,
    "prompts_active": 3,
    "questions_open": 2,
    "voice": {"state": "off", "model": None},
    "orchestration": {"enabled": True},
    "taken_up": 3,
}


def told(output: str) -> dict[str, str]:
    """``name  words`` lines as a dictionary."""
    return dict(tuple(line.split("  ", 1)) for line in output.splitlines())  # type: ignore[misc]


def test_status_tells_everything_in_one_round_trip(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.status"] = STATUS

    done = podium(daemon, "status")

    lines = {name.strip(): words.strip() for name, words in told(done.stdout).items()}
    assert lines.pop("started").endswith(" ago")
    assert lines == {
        "daemon": "running, pid 4711",
        "version": __version__,
        "socket": "/run/user/1000/podium/podium.sock",
        "gateway": "ws://127.0.0.1:8080 (1 client)",
        "sessions": "12",
        "active runs": "1",
        "active prompts": "3 ('podium runs')",
        "open questions": "2 ('podium questions')",
        "voice": "off",
        "recipes": "on",
        "turns taken up": "3",
    }
    assert (done.stderr, done.returncode) == ("", 0)
    assert daemon.calls == [("daemon.status", {})]


def test_status_says_how_many_of_the_active_runs_are_paused(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.status"] = {**STATUS, "runs_active": 3, "runs_paused": 2}

    lines = told(podium(daemon, "status").stdout)

    assert {name.strip(): words.strip() for name, words in lines.items()}["active runs"] == (
        "3, 2 paused"
    )


@pytest.mark.parametrize(
    ("voice", "said"),
    [
        ({"state": "not-installed", "model": "base"}, "not installed ('podium voice status')"),
        ({"state": "no-model", "model": "base"}, "no model ('podium voice status')"),
        ({"state": "ready", "model": "base"}, "ready (base)"),
    ],
)
def test_status_says_in_words_whether_speech_can_be_read(
    daemon: FakeDaemon, voice: dict[str, str], said: str
) -> None:
    daemon.answers["daemon.status"] = {**STATUS, "voice": voice}

    lines = told(podium(daemon, "status").stdout)

    assert {name.strip(): words.strip() for name, words in lines.items()}["voice"] == said


def test_status_tells_of_another_version_with_the_command_that_helps(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.status"] = {**STATUS, "version": "0.0.9"}

    done = podium(daemon, "status")

    assert done.stderr == (
        f"This client is {__version__}, the daemon 0.0.9: "
        "'podium down && podium up' restarts the daemon with this version.\n"
    )


def test_status_as_json_is_the_answer_and_the_client_version(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.status"] = STATUS

    done = podium(daemon, "status", "--json")

    assert json.loads(done.stdout) == {
        **daemon.answers["daemon.status"],
        "client_version": __version__,
    }


FORMS = [
    ["runs"], ["runs", "--json"], ["runs", "--all"], ["locks"], ["sessions"], ["sessions", "--json"]
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_short_way_and_the_parser_do_the_same(
    daemon: FakeDaemon,
    form: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    daemon.answers |= {
        "runs.list": [stories.ended_run()],
        "sessions.list": {"sessions": [row()], "total": 1},
        "daemon.status": STATUS,
    }
    monkeypatch.setenv("PODIUM_SOCKET", str(daemon.path))

    assert main(form) == 0
    short = capsys.readouterr().out
    assert dispatch.run(form) == 0

    assert capsys.readouterr().out == short
    half = len(daemon.calls) // 2
    assert daemon.calls[:half] == daemon.calls[half:]


def test_runs_are_an_aligned_table(daemon: FakeDaemon) -> None:
    active = stories.ended_run(
        status="running", exit=None, cost_usd=0.0123, working_directory="/home/ada/pots"
    )
    daemon.answers["runs.list"] = [active]

    heading, row = podium(daemon, "runs").stdout.splitlines()

    assert daemon.calls == [("runs.list", {"active": True}), ("daemon.status", {})]
    assert heading.split() == ["RUN", "NAME", "STATUS", "STEP", "STARTED", "COST", "DIRECTORY"]
    assert row.startswith(f"{RUN_ID[:8]}  fix-it  running  fix (2)  ")
    assert row.endswith("  $0.0123  ~/pots")
    assert row.index("~/pots") == heading.index("DIRECTORY")


def test_a_run_that_is_to_pause_says_so_in_the_list(daemon: FakeDaemon) -> None:
    active = stories.ended_run(status="running", exit=None, stop="pause")
    daemon.answers["runs.list"] = [active]

    assert "  running, will pause  " in podium(daemon, "runs").stdout


def test_prompts_that_have_not_ended_are_listed_by_their_ids_beside_the_runs(
    daemon: FakeDaemon,
) -> None:
    first = {
        "run_id": RUN_ID,
        "name": "What is new?",
        "session_id": "5e55" * 8,
        "status": "running",
        "started_at": STATUS["started_at"],
    }
    waits = {**first, "run_id": "2b" * 16, "name": "And then?", "status": "queued"}
    first |= {"status": "waiting", "paused": True}
    daemon.answers["runs.list"] = []
    daemon.answers["daemon.status"] = {**STATUS, "prompts": [first, waits]}

    done = podium(daemon, "runs")

    none, empty, heading, one, two = done.stdout.splitlines()
    assert (none, empty) == ("No active runs ('podium runs --all' shows ended ones).", "")
    assert heading.split() == ["PROMPT", "WORDS", "STATUS", "STARTED", "SESSION"]
    assert one.startswith(f"{RUN_ID[:8]}  What is new?  waiting, paused  ")
    assert one.endswith("  5e555e55")
    assert two.startswith("2b2b2b2b  And then?     in line         ")
    follows = "'podium attach PROMPT' follows one, 'podium cancel PROMPT' ends it.\n"
    assert done.stderr == f"And 1 that began later. {follows}"


def test_the_status_says_how_many_prompts_wait_in_line(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.status"] = {**STATUS, "prompts_waiting": 2}
    told = [" ".join(line.split()) for line in podium(daemon, "status").stdout.splitlines()]
    assert "active prompts 3 ('podium runs'), 2 in line" in told


def test_all_runs_are_asked_for_with_a_bound(daemon: FakeDaemon) -> None:
    daemon.answers["runs.list"] = [stories.ended_run("guardrail")]

    done = podium(daemon, "runs", "--all")

    assert daemon.calls == [("runs.list", {"limit": 50})]
    assert "  ⚠ max-total-steps  " in done.stdout
    assert "--before" not in done.stderr, "there are no others"


def test_runs_are_listed_on_from_one_and_the_next_beginning_is_told(daemon: FakeDaemon) -> None:
    daemon.answers["runs.list"] = [stories.ended_run()]

    done = podium(daemon, "runs", "--limit", "1", "--before", "1a2b3c4d")

    assert daemon.calls == [("runs.list", {"limit": 1, "before": "1a2b3c4d"})]
    assert f"'podium runs --before {RUN_ID[:8]}'" in done.stderr


def test_more_runs_than_one_answer_holds_are_asked_for_page_by_page(daemon: FakeDaemon) -> None:
    page = [stories.ended_run(run_id=f"{number:032x}") for number in range(1000)]
    daemon.answers["runs.list"] = page

    done = podium(daemon, "runs", "--limit", "1001", "--json")

    assert daemon.calls == [
        ("runs.list", {"limit": 1000}),
        ("runs.list", {"limit": 1, "before": page[-1]["run_id"]}),
    ]
    assert len(json.loads(done.stdout)) == 1001


def test_a_limit_that_is_no_number_and_a_beginning_of_nothing_are_said(daemon: FakeDaemon) -> None:
    daemon.answers["runs.list"] = []

    assert podium(daemon, "runs", "--before", "1a2b").stdout == "No run began before 1a2b.\n"
    refused = podium(daemon, "runs", "--limit", "many")
    assert (
        refused.returncode == 2
        and "--limit takes a whole number from 1 to 100000" in refused.stderr
    )


@pytest.mark.parametrize(
    ("class_", "sign"), [("completed", "✓"), ("error", "✗"), ("checks-failed", "✗")]
)
def test_how_a_run_ended_is_a_sign_before_its_reason(
    daemon: FakeDaemon, class_: str, sign: str
) -> None:
    run = stories.ended_run(class_)
    daemon.answers["runs.list"] = [{**run, "name": "fix-it: Mend the gate"}]

    told = podium(daemon, "runs", "--all").stdout

    assert "  fix-it: Mend the gate  " in told
    assert f"  {sign} {run['exit']['reason']}  " in told


@pytest.mark.parametrize(
    ("command", "method", "words"),
    [
        (["runs"], "runs.list", "No active runs ('podium runs --all' shows ended ones)."),
        (["runs", "--all"], "runs.list", "No runs yet."),
        (["questions"], "questions.list", "No open questions."),
        (["locks"], "sessions.locks", "Nothing is held."),
    ],
)
def test_an_empty_list_is_a_sentence(
    daemon: FakeDaemon, command: list[str], method: str, words: str
) -> None:
    daemon.answers |= {"daemon.status": {**STATUS, "prompts_active": 0}, method: []}

    assert podium(daemon, *command).stdout == f"{words}\n"
    assert podium(daemon, *command, "--json").stdout == "[]\n"


TALK = {"run_id": RUN_ID, "name": "guided-design: A shop", "session_id": "5e55" * 8}


@pytest.mark.parametrize("command", ["questions", "status"])
def test_a_conversation_that_waits_for_words_is_told(daemon: FakeDaemon, command: str) -> None:
    daemon.answers |= {"questions.list": [], "daemon.status": {**STATUS, "talks_waiting": [TALK]}}

    told = podium(daemon, command).stdout

    waits = f"{RUN_ID[:8]} guided-design: A shop waits for your words: podium prompt --session "
    assert waits + "5e555e55 TEXT\n" in told
    assert "No open questions" not in told


def test_questions_show_what_is_asked_and_no_control_characters(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.status"] = STATUS
    daemon.answers["questions.list"] = [
        {**stories.QUESTION, "text": "Sure?\n\x1b[31mred"},
        stories.APPROVAL,
    ]

    heading, *lines = podium(daemon, "questions").stdout.splitlines()

    assert heading.split() == ["QUESTION", "RUN", "KIND", "ASKED", "ANSWERS"]
    assert lines[0].endswith("  yes|no")
    assert lines[1:4] == ["    Sure?", "    \\x1b[31mred", "      two files changed"]
    assert lines[4].endswith("  allow|deny")
    called = [f"      {line}" for line in stories.CALL]
    assert lines[5:] == ["    May the agent use Bash?", *called]


def test_locks_name_the_holder(daemon: FakeDaemon) -> None:
    since = "2026-05-01T10:00:00.000Z"
    daemon.answers["sessions.locks"] = [
        {"session_id": "5e55", "holder": {"kind": "foreign", "pid": 99, "since": since}},
        {
            "working_directory": "/home/ada/pots",
            "holder": {"kind": "run", "id": RUN_ID, "since": since},
        },
    ]

    _, session, tree = podium(daemon, "locks").stdout.splitlines()

    assert session.startswith("session       foreign process 99  ")
    assert session.endswith("  5e55")
    assert tree.startswith(f"working tree  run {RUN_ID[:8]}  ")
    assert tree.endswith("  ~/pots")
