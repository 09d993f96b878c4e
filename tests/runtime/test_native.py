"""The native agent in a daemon: the loop, its facts, its session, its commit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from podiumd.formats.message import ToolResult, ToolUse
from podiumd.runtime.errors import AgentUnavailable, InvalidParameter
from tests.runtime.harness import Daemon, Json, running
from tests.runtime.native_bench import (
    BROKEN,
    DONE,
    MENDED,
    MENDING,
    PATCH,
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
