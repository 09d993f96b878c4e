"""Turns of the real Codex against the scripted model server."""

from __future__ import annotations

import socket
import uuid
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.agents.codex import dialect
from podiumd.agents.codex.driver import CodexDriver
from podiumd.agents.codex.kind import CodexSettings
from podiumd.core.reply.report import Tokens
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    Output,
    SessionNamed,
    Turn,
    TurnEvent,
)
from podiumd.drivers.spool import SpoolWatch
from podiumd.tools.process.processes import Identity, alive
from tests.codex.app_server import Home, app_server
from tests.codex.rig import escalated, patch, rig_of, run
from tests.drivers.rig import ALLOW, Rig, answering, approvals, in_thread, play, started, states
from tests.fakes.model_server import ModelServer

pytestmark = [pytest.mark.codex, pytest.mark.slow]

ALL = ("Bash", "Edit", "Write")
TMP = Path("/tmp")


@pytest.fixture
def codex(watch: SpoolWatch) -> CodexDriver:
    return CodexDriver(watch)


@pytest.fixture
def rig(home: Home) -> Rig:
    return rig_of(home)


def named(events: list[TurnEvent]) -> str:
    (found,) = {event.agent_session_id for event in events if isinstance(event, SessionNamed)}
    return found


def said(events: list[TurnEvent], kind: str = "text") -> str:
    return "".join(e.delta for e in events if isinstance(e, Output) and e.kind == kind)


async def test_a_turn_has_words_tokens_and_mark_and_its_thread_goes_on_and_is_forked(
    codex: CodexDriver, rig: Rig, server: ModelServer, home: Home
) -> None:
    server.load({"turns": [{"text": "Hello there."}, {"text": "Again."}, {"text": "Apart."}]})
    request = rig.request("first ☕ " + "x" * 200_000)
    turn, events = await play(codex, request)
    report, thread = turn.report, named(events)
    assert (report.kind, report.texts, report.detail) == ("done", ("Hello there.",), "")
    assert report.tokens == Tokens(10, 0, 5) and report.prompt_recorded and not report.tool_begun
    assert said(events) == "Hello there."
    assert states(events, request.prompt_uuid) == ["started", "completed"]
    assert server.requests[0].prompt == request.prompt
    rollout = codex.transcript(thread, str(rig.work), rig.environment)
    assert rollout is not None and report.mark is not None
    assert report.mark["size"] == rollout.stat().st_size
    assert not alive(Identity(started(events).pid, started(events).proc_start))
    known = {"agent_session_id": thread}
    turn, events = await play(codex, rig.request("second", session_mode="resume", **known))
    assert (turn.report.kind, turn.report.texts, named(events)) == ("done", ("Again.",), thread)
    assert turn.report.tokens == Tokens(10, 0, 5)
    assert (
        "first ☕" in server.requests[1].anywhere and "Hello there." in server.requests[1].anywhere
    )
    turn, events = await play(codex, rig.request("third", session_mode="fork", **known))
    assert turn.report.texts == ("Apart.",) and named(events) != thread
    assert "Again." in server.requests[2].anywhere


async def test_what_may_be_done_unasked_is_and_the_rest_asks_for_once(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    turns = [
        run("ls"),
        run("echo a > a.txt"),
        run("echo b > b.txt"),
        patch("*** Add File: new.txt", "+hello"),
        {"text": "ok"},
    ]
    server.load({"turns": turns})
    answers = answering(ALLOW, Decision("deny", "Not that."), ALLOW)
    turn, events = await play(codex, rig.request(), answers)
    asked = [event for event in events if isinstance(event, ApprovalRequested)]
    assert [(one.tool, one.input.get("command")) for one in asked] == [
        ("Bash", "echo a > a.txt"),
        ("Bash", "echo b > b.txt"),
        ("Write", None),
    ]
    assert turn.report.kind == "done" and [d.tool for d in turn.report.denials] == ["Bash"]
    assert sorted(path.name for path in rig.work.iterdir()) == ["a.txt", "new.txt"]
    assert "rejected by user" in server.requests[3].result
    server.load({"turns": [*turns[1:3], {"text": "ok"}]})
    turn, events = await play(codex, rig.request(allow=ALL))
    assert approvals(events) == [] and (rig.work / "b.txt").read_text() == "b\n"


async def test_a_rule_covers_a_command_in_the_sandbox_and_never_one_out_of_it(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    outside = rig.root / "outside"
    server.load({"turns": [run("make it"), escalated("make it"), run("make other"), {"text": "."}]})
    turn, events = await play(codex, rig.request(allow=("Bash(make it)",)), answering(ALLOW))
    assert approvals(events) == ["Escalate", "Bash"]
    server.load({"turns": [run(f"touch {outside}"), escalated(f"touch {outside}"), {"text": "."}]})
    turn, events = await play(codex, rig.request(allow=ALL), answering(ALLOW))
    assert approvals(events) == ["Escalate"] and outside.exists()
    assert "Read-only file system" in server.requests[-2].result
    outside.unlink()
    server.load({"turns": [escalated(f"touch {outside}"), {"text": "."}]})
    turn, events = await play(codex, rig.request(allow=(*ALL, "Escalate")))
    assert approvals(events) == [] and outside.exists() and turn.report.kind == "done"


async def test_what_is_allowed_stays_in_the_sandbox_and_the_working_directory(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    outside = rig.root / "outside"
    outside.mkdir()
    (rig.work / "link").symlink_to(outside)
    (rig.work / "mine").write_text("one\n")
    turns = [
        run("ls; true"),
        run("awk 'BEGIN{system(\"touch pwned\")}' mine"),
        run("ls | xargs touch"),
        patch("*** Add File: inside", "+x"),
        patch(f"*** Add File: {outside}/new", "+x"),
        patch("*** Add File: ../outside/new", "+x"),
        patch("*** Add File: link/new", "+x"),
        patch("*** Add File: .codex/config.toml", "+x"),
        patch("*** Update File: mine", f"*** Move to: {outside}/new", "@@", "-one", "+two"),
        escalated("ls"),
        {"text": "ok"},
    ]
    server.load({"turns": turns})
    request = rig.request(allow=("Edit",))
    turn, events = await play(codex, request, answering(*[Decision("deny")] * 9))
    assert approvals(events) == ["Bash"] * 3 + ["Escalate"] * 6 and turn.report.kind == "done"
    assert sorted(path.name for path in rig.work.iterdir()) == ["inside", "link", "mine"]
    assert list(outside.iterdir()) == []


async def test_always_holds_for_the_turn_and_in_podium_alone(
    codex: CodexDriver, rig: Rig, server: ModelServer, home: Home
) -> None:
    before = (home.codex / "config.toml").read_text()
    server.load({"turns": [run("touch a"), run("touch b"), {"text": "ok"}]})
    always = answering(Decision("allow", rule="Bash"))
    _, events = await play(codex, rig.request(), always)
    assert approvals(events) == ["Bash"] and (rig.work / "b").exists()
    assert (home.codex / "config.toml").read_text() == before
    assert not (home.codex / "rules").exists()


async def test_a_step_that_only_reads_writes_nothing_and_asks_nobody(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    (rig.work / "there").write_text("words")
    change = patch("*** Add File: new.txt", "+hello")
    calls = [run("cat there; touch a"), escalated("touch b"), change, {"text": "ok"}]
    server.load({"turns": calls})
    turn, events = await play(codex, rig.request(tools="read-only", allow=ALL))
    assert approvals(events) == [] and turn.report.kind == "done"
    assert [one.tool for one in turn.report.denials] == ["Escalate", "Write"]
    assert [path.name for path in rig.work.iterdir()] == ["there"]
    assert "words" in server.requests[1].result


@pytest.mark.parametrize("tools", ["none", ("Read",)])
async def test_a_list_of_tools_is_refused_before_anything_starts(
    codex: CodexDriver, rig: Rig, server: ModelServer, tools: Any
) -> None:
    turn, _ = await play(codex, rig.request(tools=tools))
    assert turn.report.kind == "failed" and "cannot be limited to some tools" in turn.report.detail
    assert server.requests == []


async def test_an_answer_has_the_shape_that_is_asked_for_and_the_model_changes_by_turn(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    schema = {
        "type": "object",
        "properties": {"outcome": {"type": "string"}},
        "required": ["outcome"],
        "additionalProperties": False,
    }
    server.load({"default": {"text": "So.", "structured": {"outcome": "complete"}}})
    turn, events = await play(codex, rig.request(schema=schema, system_prompt="Be a reviewer."))
    assert turn.report.structured == {"outcome": "complete"}
    assert turn.report.texts[0] == "So."
    assert "Be a reviewer." in server.requests[0].system
    known = {"session_mode": "resume", "agent_session_id": named(events)}
    turn, _ = await play(codex, rig.request(model="other", **known))
    assert turn.report.structured is None and server.requests[1].model == "other"


async def test_a_steer_reaches_the_running_turn_and_one_too_late_says_so(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [run("touch a"), {"text": "done"}]})
    request, steer = rig.request(), str(uuid.uuid4())

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ApprovalRequested):
            assert await turn.steer("also look at b", steer)
            assert await turn.answer(event.request_id, ALLOW)

    turn, events = await play(codex, request, react)
    assert states(events, steer) == ["queued", "started", "completed"]
    assert turn.report.kind == "done" and turn.report.undelivered == ()
    assert "also look at b" in server.requests[-1].anywhere
    assert not await turn.steer("late", str(uuid.uuid4()))


@pytest.mark.parametrize("where", ["answer", "command", "question"])
async def test_an_interrupt_ends_it_and_nothing_lives_on(
    codex: CodexDriver, rig: Rig, server: ModelServer, where: str
) -> None:
    script = {"answer": {"text": "a long answer", "hold": "half"}, "question": run("touch q")}
    server.load({"turns": [script.get(where, run("sleep 1000"))]})
    allow = () if where == "question" else ALL
    seen = {"question": "ApprovalRequested", "command": "tool", "answer": "PromptState"}[where]

    async def react(turn: Turn, event: TurnEvent) -> None:
        if where == "answer" and type(event).__name__ == seen:
            await in_thread(server.wait_holding, "half")
            await turn.interrupt()
        elif seen in (type(event).__name__, getattr(event, "kind", "")):
            await turn.interrupt()

    turn, events = await play(codex, rig.request(allow=allow), react)
    assert turn.report.kind == "interrupted" and turn.report.prompt_recorded
    server.load({"turns": [{"text": "went on"}]})
    known = {"session_mode": "resume", "agent_session_id": named(events)}
    turn, _ = await play(codex, rig.request(**known))
    assert turn.report.texts == ("went on",)


ERRORS = [
    ({"error": {"status": 401, "message": "bad key"}}, "api_error", 401, "bad key"),
    ({"error": {"status": 500, "message": "oh"}}, "api_error", 500, "high demand"),
    ({"error": {"status": 429, "message": "slow"}}, "api_error", 429, "429"),
    ({"text": "abc " * 20, "cut": True}, "api_error", None, "disconnected"),
    ({"failed": {"code": "context_length_exceeded", "message": "x"}}, "failed", None, "context"),
]


@pytest.mark.parametrize(("answer", "kind", "status", "words"), ERRORS)
async def test_a_model_that_fails_is_no_answer(
    codex: CodexDriver,
    rig: Rig,
    server: ModelServer,
    answer: Any,
    kind: str,
    status: int | None,
    words: str,
) -> None:
    server.load({"default": answer})
    turn, _ = await play(codex, rig.request())
    report = turn.report
    assert (report.kind, report.api_status) == (kind, status) and words in report.detail


async def test_a_provider_that_is_out_of_reach_ends_the_turn_in_codexs_words(
    codex: CodexDriver, rig: Rig, server: ModelServer, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left to itself Codex tries for ever; our five minutes are a second here."""
    monkeypatch.setattr(dialect, "UNREACHABLE_MS", 1_000)
    with socket.create_server(("127.0.0.1", 0)) as gone:
        refusing = f"http://127.0.0.1:{gone.getsockname()[1]}"
    config = (home.codex / "config.toml").read_text().replace(server.url, refusing)
    (home.codex / "config.toml").write_text(config.replace("stream_max_retries = 0\n", ""))
    turn, events = await play(codex, rig.request())
    assert turn.report.kind == "failed" and "the provider was unreachable" in turn.report.detail
    assert "Connection failed" in turn.report.detail
    assert said(events, "status").startswith("trying again: ") and server.requests == []


async def test_model_and_effort_reach_the_model(
    watch: SpoolWatch, rig: Rig, server: ModelServer
) -> None:
    server.load({"default": {"text": "So."}})
    driver = CodexDriver(watch, settings=lambda: CodexSettings(effort="high"))
    await play(driver, rig.request(model="gpt-5.4"))
    asked = server.requests[-1]
    assert asked.model == "gpt-5.4" and asked.body["reasoning"]["effort"] == "high"


async def test_a_used_up_account_says_when_it_may_go_on(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    head = {"x-codex-primary-used-percent": "100", "x-codex-primary-window-minutes": "300"}
    error = {"status": 429, "type": "usage_limit_reached", "message": "used up"}
    resets = {**head, "x-codex-primary-reset-at": "1795900000"}
    server.load({"default": {"error": {**error, "headers": resets}}})
    turn, _ = await play(codex, rig.request())
    assert (turn.report.kind, turn.report.resets_at) == ("usage_limit", "2026-11-28T21:06:40.000Z")
    assert "usage limit" in turn.report.detail
    server.load({"default": {"error": error}})
    turn, _ = await play(codex, rig.request())
    assert (turn.report.kind, turn.report.resets_at) == ("usage_limit", None)


async def test_a_thread_that_is_open_elsewhere_is_locked_and_nothing_is_prompted(
    codex: CodexDriver, rig: Rig, server: ModelServer, home: Home
) -> None:
    server.load({"default": {"text": "mine"}})
    async with app_server(home) as other:
        thread = await other.thread()
        await other.prompt(thread, "go", "their-id")
        await other.until("turn/completed", threadId=thread)
        known = {"session_mode": "resume", "agent_session_id": thread}
        turn, _ = await play(codex, rig.request(**known))
    assert (turn.report.kind, turn.report.reason) == ("stopped", "session-locked")
    assert "close it there, or fork" in turn.report.detail and len(server.requests) == 1


async def test_without_a_login_nothing_is_prompted(
    codex: CodexDriver, rig: Rig, server: ModelServer, home: Home
) -> None:
    (home.codex / "config.toml").write_text('model = "scripted"\n')
    turn, events = await play(codex, rig.request())
    assert turn.report.kind == "failed" and "run 'codex login'" in turn.report.detail
    assert states(events, "") == [] and server.requests == [] and not turn.report.prompt_recorded


async def test_a_thread_that_is_not_there_is_never_begun_anew(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    known = {"session_mode": "resume", "agent_session_id": str(uuid.uuid4())}
    turn, _ = await play(codex, rig.request(**known))
    assert turn.report.kind == "failed" and "no rollout found" in turn.report.detail
    assert server.requests == []


async def test_a_sub_agents_question_is_asked_and_its_end_is_not_the_turns(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    spawn = {"name": "spawn_agent", "namespace": "multi_agent_v1", "input": {"message": "sub task"}}
    server.load(
        {
            "rules": [
                {"when": {"prompt": "^sub"}, "turns": [run("touch sub"), {"text": "sub done"}]},
                {
                    "when": {"prompt": "^main"},
                    "turns": [{"tools": [spawn]}, {"text": "main done", "hold": "end"}],
                },
            ]
        }
    )

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ApprovalRequested):
            assert await turn.answer(event.request_id, ALLOW)
        elif isinstance(event, Output) and event.kind == "tool" and ": Bash: touch" in event.delta:
            server.release("end")

    turn, events = await play(codex, rig.request("main"), react)
    assert turn.report.texts == ("main done",)
    assert "spawnAgent: sub task" in said(events, "tool")


async def test_a_sub_agent_stays_in_the_sandbox_and_does_what_is_allowed(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    spawn = {"name": "spawn_agent", "namespace": "multi_agent_v1", "input": {"message": "sub task"}}
    sub = [run("touch sub"), run("ls"), escalated(f"touch {rig.root}/outside"), {"text": "done"}]
    main = [{"tools": [spawn]}, {"text": "main done", "hold": "end"}]
    whose = [("^sub", sub), ("^main", main)]
    server.load({"rules": [{"when": {"prompt": one}, "turns": turns} for one, turns in whose]})

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ApprovalRequested):
            assert await turn.answer(event.request_id, Decision("deny"))
            server.release("end")

    _, events = await play(codex, rig.request("main", allow=("Bash",)), react)
    assert approvals(events) == ["Escalate"]
    assert [path.name for path in rig.work.iterdir()] == ["sub"]
    assert not (rig.root / "outside").exists()


async def queue(rig: Rig, thread: str, words: str) -> None:
    """Queue a message in Codex itself."""
    add = ["queue", "--thread", thread, "--message", words]
    command = [*rig.command, *add]
    await trio.run_process(command, env=rig.environment, cwd=rig.work, capture_stdout=True)


async def test_what_is_queued_in_codex_begins_no_turn_of_ours(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    theirs = {"when": {"prompt": "^(THEIRS|AND)"}, "turns": [run("touch theirs")] * 2}
    server.load({"rules": [theirs], "default": {"text": "mine"}})
    _, events = await play(codex, rig.request("one", allow=ALL))
    known = {"session_mode": "resume", "agent_session_id": named(events)}
    for words in ("THEIRS", "AND THIS"):
        await queue(rig, named(events), words)
    turn, events = await play(codex, rig.request("two", allow=ALL, **known))
    assert (turn.report.kind, turn.report.texts) == ("done", ("mine",))
    assert server.requests[-1].prompt == "two" and not (rig.work / "theirs").exists()
    for words in ("THEIRS", "AND THIS"):
        assert words in said(events, "status")
        assert any(words in one for one in turn.report.background_stopped)
        assert words in server.requests[-1].anywhere, "it stands in the thread"


async def test_what_is_queued_while_a_turn_works_is_cut_off_after_it_and_named(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [run("touch a"), {"text": "mine"}], "default": {"hold": "theirs"}})
    thread = ""

    async def react(turn: Turn, event: TurnEvent) -> None:
        nonlocal thread
        if isinstance(event, SessionNamed):
            thread = event.agent_session_id
        elif isinstance(event, ApprovalRequested):
            await queue(rig, thread, "THEIRS")
            assert await turn.answer(event.request_id, ALLOW)

    turn, _ = await play(codex, rig.request("one"), react)
    assert (turn.report.kind, turn.report.texts) == ("done", ("mine",))
    server.load({"default": {"text": "again"}})
    known = {"session_mode": "resume", "agent_session_id": thread}
    again, _ = await play(codex, rig.request("two", **known))
    assert again.report.texts == ("again",)
    assert "THEIRS" in server.requests[-1].anywhere, "it is not lost"
    named_then = (*turn.report.background_stopped, *again.report.background_stopped)
    assert [one for one in named_then if "THEIRS" in one], "at the one end or the other"


async def test_a_goal_of_codexs_own_is_not_gone_on_with(
    codex: CodexDriver, rig: Rig, server: ModelServer, home: Home
) -> None:
    server.load({"default": {"text": "mine"}})
    async with app_server(home) as other:
        thread = await other.thread()
        await other.prompt(thread, "go", "their-id")
        await other.until("turn/completed", threadId=thread)
        assert "create_goal" in server.requests[0].tools
        server.load({"default": {"text": "a b c", "hold": "half"}})
        await other.call("thread/goal/set", threadId=thread, objective="win", status="active")
        await other.until("turn/started", threadId=thread)
    before = len(server.requests)
    server.load({"default": {"text": "mine"}})
    known = {"session_mode": "resume", "agent_session_id": thread}
    turn, _ = await play(codex, rig.request("two", **known))
    assert (turn.report.kind, turn.report.texts) == ("done", ("mine",))
    (ours,) = server.requests[before:]
    assert ours.prompt == "two" and "create_goal" not in ours.tools


async def test_a_commit_needs_both_directories_of_git_in_a_worktree_too(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    async def git(*words: str) -> None:
        await trio.run_process(
            ["git", "-C", str(rig.work), "-c", "user.name=A", "-c", "user.email=a@b", *words],
            env=rig.environment,
            capture_stdout=True,
        )

    await git("init", "-q", "-b", "main")
    await git("commit", "-q", "--allow-empty", "-m", "begin")
    await git("worktree", "add", "-q", str(rig.root / "tree"), "-b", "tree")
    line = "git -c user.name=A -c user.email=a@b commit -q --allow-empty -m made && echo MADE"
    for where in (rig.work, rig.root / "tree"):
        server.load({"turns": [run(line), {"text": "ok"}]})
        places: dict[str, Any] = {"working_directory": str(where), "allow": ALL}
        await play(codex, rig.request(**places, commits=True))
        assert "Read-only file system" in server.requests[-1].result
        server.load({"turns": [run(line), {"text": "ok"}]})
        await play(codex, rig.request(**places, writes_git=True))
        assert server.requests[-1].result.endswith("MADE\n")


async def test_a_turn_leaves_nothing_in_the_directories_for_temporary_files_of_all(
    codex: CodexDriver, rig: Rig, server: ModelServer
) -> None:
    def protected() -> list[tuple[str, int]]:
        places = [TMP / name for name in (".agents", ".codex", ".git")]
        return [(one.name, one.stat().st_ctime_ns) for one in places if one.exists()]

    before, probe = protected(), TMP / f"podium-{uuid.uuid4()}"
    line = f"touch {probe}; touch $(mktemp) && cat <<< $TMPDIR"
    server.load({"turns": [run(line), {"text": "ok"}]})
    request = rig.request(allow=ALL)
    turn, _ = await play(codex, request)
    result = server.requests[-1].result
    assert turn.report.kind == "done" and "Read-only file system" in result
    assert result.endswith(f"{request.directory}/tmp\n")
    assert protected() == before and not probe.exists()
    assert list((rig.home / "tmp").iterdir()) == [] and list(rig.work.iterdir()) == []
