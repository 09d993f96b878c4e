"""The native agent in a daemon: the loop, its facts, its session, its commit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.formats.message import ToolResult, ToolUse
from podiumd.runtime.errors import AgentUnavailable, InvalidParameter
from podiumd.tools.commit import index_lock
from tests.runtime.harness import Daemon, Json, running
from tests.runtime.native_bench import (
    BROKEN,
    DONE,
    MENDED,
    MENDING,
    PATCH,
    READ,
    NativeMachine,
    act,
    report,
)
from tests.tools.git_repository import run_git


@pytest.fixture
def machine(tmp_path: Path, databases: list[Path]) -> NativeMachine:
    return NativeMachine(tmp_path, databases)


async def run(daemon: Daemon, text: str = "Mend it.", **fields: Any) -> Json:
    """Send a prompt to the native agent and wait for its end."""
    sent = await daemon.prompt(text, agent="native", **fields)
    return await daemon.ended(sent["run_id"]) | {"session_id": sent["session_id"]}


async def results(daemon: Daemon, run_id: str) -> list[tuple[str, bool]]:
    found = await daemon.events(run_id, "action.ended")
    return [(one["result"]["action"], one["result"]["success"]) for one in found]


async def test_a_failing_test_is_mended_and_committed(machine: NativeMachine) -> None:
    async with running(machine) as daemon:
        ended = await run(daemon, "Mend the test.")
        assert ended["exit"]["reason"] == "turn-complete", daemon.logged
        types = await daemon.types(ended["run_id"])
        assert await results(daemon, ended["run_id"]) == [
            ("read_file", True),
            ("patch", True),
            ("run_tests", True),
            ("done", True),
        ]
        told = await report(daemon, ended["run_id"])
    assert machine.read() == MENDED
    assert types.count("reply.received") == 4
    assert ["calc.py", "modified"] in told["files"]
    assert told["text"].startswith("I look.\n\nI mend it.\n\nThe test passes.\n\ncommitted ")
    assert len(machine.subjects) == 2
    assert "modified calc.py" in machine.subjects[0]


async def test_the_session_tells_the_whole_conversation_with_actions_and_results(
    machine: NativeMachine,
) -> None:
    async with running(machine) as daemon:
        ended = await run(daemon, "Mend the test.")
        listed = await daemon.service.sessions_list(None, 10, None)
        (row,) = listed.sessions
        assert (row.session_id, row.agent) == (ended["session_id"], "native")
        assert row.name == "Mend the test."
    asked, look, looked, *_, notice = machine.messages(ended["session_id"])
    assert (asked.role, asked.text) == ("user", "Mend the test.")
    assert look.text == "I look."
    (_, use), (result,) = look.blocks, looked.blocks
    assert isinstance(use, ToolUse) and isinstance(result, ToolResult)
    assert (use.name, use.id) == ("read_file", result.tool_use_id)
    assert "1\tdef add(a, b):" in result.text and not result.is_error
    assert (notice.role, notice.text[:10]) == ("assistant", "committed ")


async def test_each_write_and_command_is_asked_for_and_reads_are_not(
    machine: NativeMachine,
) -> None:
    machine.configure(mode="confirm")
    machine.replies(*MENDING)
    async with running(machine) as daemon:
        sent = await daemon.prompt("Mend it.", agent="native", permission_mode="confirm")
        question = await daemon.question(sent["run_id"])
        assert (question["kind"], question["tool"]) == ("approval", "patch")
        assert question["text"] == "May the agent use patch? calc.py"
        assert "-    return a - b\n+    return a + b\n" in question["detail"]
        assert machine.read() == BROKEN
        await daemon.answer(sent["run_id"], "allow")
        await daemon.until(sent["run_id"], lambda s: len(s.questions) == 2)
        question = await daemon.question(sent["run_id"])
        assert question["input"] == {"command": "python3 test_calc.py"}
        await daemon.answer(sent["run_id"], "allow")
        await daemon.ended(sent["run_id"])
        assert [ok for _, ok in await results(daemon, sent["run_id"])] == [True] * 4
    assert machine.read() == MENDED


async def test_a_no_without_a_reason_says_no_more_than_that(machine: NativeMachine) -> None:
    machine.replies(act(PATCH), "As you like.")
    async with running(machine) as daemon:
        sent = await daemon.prompt("Mend it.", agent="native", permission_mode="confirm")
        await daemon.answer(sent["run_id"], "deny")
        await daemon.ended(sent["run_id"])
        (refused,) = await daemon.events(sent["run_id"], "action.ended")
    assert refused["result"]["message"] == "User cancelled operation"


async def _questions(daemon: Daemon, run_id: str, count: int) -> None:
    """Wait until so many have been asked."""
    await daemon.until(run_id, lambda state: len(state.questions) == count)


async def test_always_for_commands_like_this_is_matched_by_their_words(
    machine: NativeMachine,
) -> None:
    lines = ("ls -a", "ls -l .", "ls; echo more", "ls > out")
    machine.replies(*(act({"action": "run_command", "command": line}) for line in lines), "Done.")
    asked = []
    async with running(machine) as daemon:
        sent = await daemon.prompt("Look.", agent="native", permission_mode="confirm")
        for number, answer in enumerate(("always-like", "deny", "deny"), 1):
            await _questions(daemon, sent["run_id"], number)
            asked.append((await daemon.question(sent["run_id"]))["input"]["command"])
            await daemon.answer(sent["run_id"], answer)
        await daemon.ended(sent["run_id"])
    assert asked == ["ls -a", "ls; echo more", "ls > out"]


async def test_what_only_reads_may_not_write_and_says_so(machine: NativeMachine) -> None:
    machine.replies(act(PATCH), "I cannot.")
    async with running(machine) as daemon:
        ended = await run(daemon, permission_mode="read-only")
        (result,) = await daemon.events(ended["run_id"], "action.ended")
        assert result["result"]["message"] == "the mode is read-only: patch is refused"
        with pytest.raises(InvalidParameter, match="allow-all, confirm, read-only"):
            await run(daemon, permission_mode="anything")
    assert machine.read() == BROKEN


async def test_without_a_commit_it_is_said_what_was_left(machine: NativeMachine) -> None:
    machine.configure(commit=False)
    async with running(machine) as daemon:
        ended = await run(daemon)
        told = await report(daemon, ended["run_id"])
    assert told["commit"] is None
    assert "Nothing was committed: " in told["text"] and "modified calc.py" in told["text"]
    assert machine.subjects == ["Begin"]


async def test_outside_git_a_sentence_says_that_nothing_was_committed(
    machine: NativeMachine, tmp_path: Path
) -> None:
    where = tmp_path / "plain"
    where.mkdir()
    (where / "calc.py").write_text(BROKEN)
    machine.replies(act(PATCH), "Mended.")
    async with running(machine) as daemon:
        ended = await run(daemon, working_directory=str(where))
        text = (await report(daemon, ended["run_id"]))["text"]
    assert (where / "calc.py").read_text() == MENDED
    assert "nothing was committed" in text.lower()


async def test_a_model_that_refuses_ends_the_run_with_its_words(machine: NativeMachine) -> None:
    machine.replies({"error": "The model will not."})
    async with running(machine) as daemon:
        ended = await run(daemon)
        assert (ended["exit"]["reason"], ended["exit"]["detail"]) == (
            "error",
            "The model will not.",
        )
    assert [one.text for one in machine.messages(ended["session_id"])] == ["Mend it."]


async def test_an_agent_that_is_not_set_up_says_what_to_set(machine: NativeMachine) -> None:
    machine.configure(provider="openai", model="", base_url="", api_key_env="NO_SUCH_KEY")
    async with running(machine) as daemon:
        with pytest.raises(AgentUnavailable, match="NO_SUCH_KEY"):
            await run(daemon)


async def test_an_interrupt_stops_the_model_in_mid_answer(machine: NativeMachine) -> None:
    machine.replies(act(PATCH), {"text": "Late.", "delay_seconds": 300})
    async with running(machine) as daemon:
        sent = await daemon.prompt("Mend it.", agent="native")
        await daemon.until(
            sent["run_id"], lambda s: s.turn is not None and bool(s.turn.loop.changes)
        )
        await daemon.service.cancel(sent["run_id"])
        told = await report(daemon, sent["run_id"])
    assert (told["kind"], told["files"]) == ("interrupted", [["calc.py", "modified"]])
    assert "Nothing was committed: modified calc.py." in told["text"]
    assert machine.read() == MENDED and machine.subjects == ["Begin"]


async def test_what_a_person_has_lying_about_is_no_part_of_the_commit(
    machine: NativeMachine,
) -> None:
    """Not even in the same file: their line stays theirs, uncommitted."""
    (machine.project / "calc.py").write_text("# mine\n" + BROKEN)
    patch = {**PATCH, "operations": [{**PATCH["operations"][0], "line": 3}]}
    machine.replies(act(patch, DONE))
    async with running(machine) as daemon:
        ended = await run(daemon)
        text = (await report(daemon, ended["run_id"]))["text"]
    assert machine.read() == "# mine\n" + MENDED
    committed = run_git(machine.project, "show", "HEAD:calc.py")
    assert "# mine" not in committed, text
    assert run_git(machine.project, "diff", "--stat") != ""


async def test_a_command_may_make_files_whose_names_are_no_text(machine: NativeMachine) -> None:
    command = "touch plain.txt \"$(printf 'caf\\351')\""
    make = {"action": "run_command", "command": command}
    machine.replies(act(make), act({"action": "list_files", "path": "."}), act(DONE))
    async with running(machine) as daemon:
        ended = await run(daemon)
        assert ended["exit"]["reason"] == "turn-complete", daemon.logged
        made = (await daemon.events(ended["run_id"], "action.ended"))[0]
    assert [one["path"] for one in made["changes"]] == ["plain.txt"]
    assert "it changed 1 files more" in made["result"]["message"]
    assert (machine.project / os.fsdecode(b"caf\xe9")).exists()


# -- what a person says to a turn of the native agent while it goes on


async def asked(daemon: Daemon, sent: Json) -> None:
    """Wait until the model has been asked, and has not answered: nothing else goes on then."""
    await daemon.until(sent["run_id"], lambda s: bool(s.turn and s.turn.loop.settings))
    await trio.testing.wait_all_tasks_blocked(0.1)


async def test_words_said_meanwhile_go_along_with_the_next_request(
    machine: NativeMachine,
) -> None:
    machine.replies(
        {"text": act(READ), "delay_seconds": 1.0},
        {"text": "I hear you.", "when": "Mind the names"},
        {"text": "I heard nothing.", "when": ""},
    )
    async with running(machine) as daemon:
        sent = await daemon.prompt("Look.", agent="native")
        await asked(daemon, sent)
        where = await daemon.prompt(
            "Mind the names.", session_id=sent["session_id"], if_busy="steer"
        )
        assert where["delivery"] == "steered"
        await daemon.ended(sent["run_id"])
        told = await report(daemon, sent["run_id"])
        ends = await daemon.events(sent["run_id"], "effect.ended")
        assert [end["state"] for end in ends] == ["queued", "delivered"]
    assert told["text"] == "I hear you."
    assert "Mind the names." in [one.text for one in machine.messages(sent["session_id"])]


async def test_words_said_during_the_last_answer_call_the_model_back(
    machine: NativeMachine,
) -> None:
    machine.replies(
        {"text": "That is all.", "delay_seconds": 1.0},
        {"text": "And that too.", "when": "One more thing"},
    )
    async with running(machine) as daemon:
        sent = await daemon.prompt("Look.", agent="native")
        await asked(daemon, sent)
        await daemon.prompt("One more thing.", session_id=sent["session_id"], if_busy="steer")
        ended = await daemon.ended(sent["run_id"])
        told = await report(daemon, sent["run_id"])
    assert told["text"] == "That is all.\n\nAnd that too."
    assert ended["exit"]["reason"] == "turn-complete"


async def test_words_that_no_request_can_carry_any_more_are_given_back(
    machine: NativeMachine,
) -> None:
    machine.configure(max_iterations=1)
    machine.replies({"text": "That is all.", "delay_seconds": 1.0})
    async with running(machine) as daemon:
        sent = await daemon.prompt("Look.", agent="native")
        await asked(daemon, sent)
        await daemon.prompt("One more thing.", session_id=sent["session_id"], if_busy="steer")
        await daemon.ended(sent["run_id"])
        (ended,) = await daemon.events(sent["run_id"], "run.ended")
    assert ended["undelivered"] == ["One more thing."]


# -- the commits of the native agent in a daemon: several at once, and where none can be made


async def test_where_git_is_held_by_another_nothing_is_committed_and_that_comes_first(
    machine: NativeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_lock, "LOCK_SECONDS", 0.0)
    lock = machine.project / ".git/index.lock"
    lock.touch()
    machine.replies(act(PATCH, words="I mend it."), act(DONE))
    async with running(machine) as daemon:
        sent = await daemon.prompt("Mend it.", agent="native")
        await daemon.ended(sent["run_id"])
        told = await report(daemon, sent["run_id"])

    assert told["commit"] is None
    assert told["text"].startswith(f"nothing was committed: another git has held '{lock}'")
    assert told["text"].endswith("I mend it.\n\nThe test passes.")
    lock.unlink()
    assert machine.subjects == ["Begin"]
    assert run_git(machine.project, "diff", "--cached", "--name-only") == ""
    assert machine.read() != BROKEN


# -- a recipe whose last step commits --------------------------------------------------------------

RECIPE = """
format = 1
id = "work"
label = "Work"
description = "Work, then commit"
initial = "work"

[steps.work]
prompt = "Work on it."
agent = "native"

[steps.work.on]
complete = { to = "commit" }

[steps.commit]
prompt = "Commit it."
agent = "native"
commits = true

[steps.commit.on]
committed = { exit = "changes-committed" }
nothing-to-commit = { exit = "no-changes-to-commit" }
"""
COMPLETE = 'Done. {"outcome": "complete"}'
COMMITTED = 'Done. {"outcome": "committed"}'
NEW: Json = {"action": "write_file", "path": "new.txt", "content": "x\n"}
BESIDE: Json = {"action": "run_command", "command": "echo y > beside.txt; rm test_calc.py"}
NOTE: Json = {
    "action": "patch",
    "file": "calc.py",
    "operations": [{"line": 1, "type": "insert", "content": ["# Adds."]}],
}


def after(words: str, *actions: Json, text: str = "") -> Json:
    """What the model says where the last message has these words."""
    return {"when": words, "text": text or act(*actions)}


@pytest.fixture
def work(machine: NativeMachine) -> str:
    return machine.recipe(RECIPE, "work")


def left(machine: NativeMachine) -> str:
    return run_git(machine.project, "status", "--porcelain")


async def test_a_step_that_commits_commits_what_earlier_turns_of_the_run_have_left(
    machine: NativeMachine, work: str
) -> None:
    """Files that it does not touch itself, and its own lines on top of earlier ones."""
    machine.replies(
        after("Work on it", NEW, PATCH, BESIDE),
        after("created new.txt", text=COMPLETE),
        after("Commit it", NOTE),
        after("patched calc.py", text=COMMITTED),
    )
    async with running(machine) as daemon:
        ended = await daemon.ended(await daemon.start(work))

    assert ended["exit"]["reason"] == "changes-committed"
    assert machine.subjects[1:] == ["Begin"]
    shown = run_git(machine.project, "show", "--format=", "--name-status", "HEAD")
    assert shown.replace("\t", " ").splitlines() == [
        "A beside.txt", "M calc.py", "A new.txt", "D test_calc.py"
    ]  # fmt: skip
    assert run_git(machine.project, "show", "HEAD:calc.py") == f"# Adds.\n{MENDED}".strip()
    assert left(machine) == ""


async def test_where_nothing_is_left_nothing_is_said_of_a_commit(
    machine: NativeMachine, work: str
) -> None:
    nothing = 'Done. {"outcome": "nothing-to-commit"}'
    machine.replies(after("Work on it", text=COMPLETE), after("Commit it", text=nothing))
    async with running(machine) as daemon:
        run_id = await daemon.start(work)
        ended = await daemon.ended(run_id)
        *_, told = await daemon.events(run_id, "turn.ended")

    assert ended["exit"]["reason"] == "no-changes-to-commit"
    assert "nothing was committed" not in told["text"]
    assert machine.subjects == ["Begin"]


# -- the native agent and the next daemon: what a turn was doing, and what becomes of it


COMMAND = {"action": "run_command", "command": "echo x >> log; echo > begun; sleep 300"}

IRREVERSIBLE = """
format = 1
id = "publish"
label = "Publish"
description = "A step that must not be repeated unseen"
initial = "publish"

[steps.publish]
prompt = "Publish it."
agent = "native"
irreversible = true

[steps.publish.on]
complete = { exit = "turn-complete" }
"""


@pytest.fixture
def begun(machine: NativeMachine) -> Path:
    """A pipe that tells when the command runs."""
    path = machine.project / "begun"
    os.mkfifo(path)
    return path


async def runs(begun: Path) -> None:
    """Wait until the command runs."""
    await trio.to_thread.run_sync(begun.read_bytes, abandon_on_cancel=True)


async def prompted(daemon: Daemon, text: str = "Go.") -> str:
    sent = await daemon.prompt(text, agent="native")
    return str(sent["run_id"])


async def test_a_command_of_a_step_that_must_not_be_repeated_is_asked_about(
    machine: NativeMachine, begun: Path
) -> None:
    machine.replies(act(COMMAND))
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.recipe(IRREVERSIBLE, "publish"))
        await runs(begun)
    machine.replies('Done.\n{"outcome": "complete"}')
    async with running(machine) as daemon:
        question = await daemon.question(run_id)
        assert question["kind"] == "recover"
        assert "must not be repeated unseen" in question["text"]
        await daemon.answer(run_id, "continue")
        ended = await daemon.ended(run_id)
    assert ended["exit"]["reason"] == "turn-complete"
    assert (machine.project / "log").read_text() == "x\n"


async def test_what_the_turn_had_changed_before_is_in_its_commit(
    machine: NativeMachine, begun: Path
) -> None:
    (machine.project / ".gitignore").write_text("begun\nlog\n")
    machine.replies(act(PATCH, COMMAND))
    async with running(machine) as daemon:
        run_id = await prompted(daemon)
        await runs(begun)
    machine.replies("Done.")
    async with running(machine) as daemon:
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
    assert machine.read() == MENDED
    assert machine.subjects == ["AI: modified calc.py", "Begin"]


async def test_a_turn_that_was_to_be_stopped_is_not_gone_on_with(
    machine: NativeMachine, begun: Path
) -> None:
    machine.replies(act(PATCH, COMMAND))
    async with running(machine) as daemon:
        run_id = await prompted(daemon)
        await runs(begun)
        actor = daemon.actor(run_id)
        actor.leaving = True
        async with trio.open_nursery() as nursery:
            nursery.start_soon(daemon.service.cancel, run_id)
            await daemon.until(run_id, lambda state: state.stopping)
            nursery.cancel_scope.cancel()
    async with running(machine) as daemon:
        ended = await daemon.ended(run_id)
        (turn,) = await daemon.events(run_id, "turn.ended")
    assert ended["exit"]["reason"] == "user-requested"
    assert (turn["report"]["kind"], turn["report"]["files"]) == (
        "interrupted",
        [["calc.py", "modified"]],
    )
    assert machine.subjects == ["Begin"]


async def test_the_settings_of_a_turn_are_those_that_it_began_with(
    machine: NativeMachine, begun: Path
) -> None:
    machine.replies(act(COMMAND))
    async with running(machine) as daemon:
        run_id = await prompted(daemon)
        await runs(begun)
    machine.configure(max_iterations=1, commit=False)
    machine.replies(act(PATCH), "Done.")
    async with running(machine) as daemon:
        ended = await daemon.ended(run_id)
        (change,) = [
            FileChange(**each)
            for one in await daemon.events(run_id, "action.ended")
            for each in one["changes"]
        ]
    assert (ended["exit"]["reason"], change.path) == ("turn-complete", "calc.py")
    assert "modified calc.py" in machine.subjects[0]
