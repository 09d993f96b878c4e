"""The native agent in a daemon: the loop, its facts, its session, its commit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from podiumd.formats.message import ToolResult, ToolUse
from podiumd.runtime.errors import AgentUnavailable, InvalidParameter
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


@pytest.mark.long(
    "tests/drivers/native/test_assembling.py::test_the_model_is_told_of_the_earlier_turns_of_its_session"
)
async def test_the_next_turn_of_a_session_knows_the_ones_before(machine: NativeMachine) -> None:
    async with running(machine) as daemon:
        first = await run(daemon, "Mend the test.")
        machine.replies({"text": "You asked me to mend it.", "when": "^And now"})
        second = await run(daemon, "And now?", session_id=first["session_id"])
        assert (await report(daemon, second["run_id"]))["text"] == "You asked me to mend it."
        forked = await run(daemon, "And now?", session_id=first["session_id"], fork=True)
    said = [message.text for message in machine.messages(first["session_id"])]
    assert said.count("And now?") == 1
    copied = [message.text for message in machine.messages(forked["session_id"])]
    assert copied[:2] == said[:2] and copied[-2] == "And now?"


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


@pytest.mark.long("tests/core/test_loop.py::test_a_refusal_says_so_and_the_reply_goes_on")
async def test_a_no_with_its_reason_goes_to_the_model_and_the_batch_goes_on(
    machine: NativeMachine,
) -> None:
    machine.replies(act(PATCH, READ), "As you like.")
    async with running(machine) as daemon:
        sent = await daemon.prompt("Mend it.", agent="native", permission_mode="confirm")
        await daemon.answer(sent["run_id"], "deny", note="Not this line.")
        await daemon.ended(sent["run_id"])
        first, second = await daemon.events(sent["run_id"], "action.ended")
        told = await report(daemon, sent["run_id"])
    assert first["result"]["message"] == "User cancelled operation: Not this line."
    assert first["refused"] and second["result"]["success"]
    assert (told["text"], told["files"], told["commit"]) == ("As you like.", [], None)
    assert machine.read() == BROKEN


async def test_a_no_without_a_reason_says_no_more_than_that(machine: NativeMachine) -> None:
    machine.replies(act(PATCH), "As you like.")
    async with running(machine) as daemon:
        sent = await daemon.prompt("Mend it.", agent="native", permission_mode="confirm")
        await daemon.answer(sent["run_id"], "deny")
        await daemon.ended(sent["run_id"])
        (refused,) = await daemon.events(sent["run_id"], "action.ended")
    assert refused["result"]["message"] == "User cancelled operation"


@pytest.mark.long(
    "tests/core/test_kernel.py::test_always_answers_the_same_tool_in_every_later_turn_of_the_run"
)
async def test_always_holds_for_that_action_in_the_run(machine: NativeMachine) -> None:
    write = [{"action": "write_file", "path": f"{name}.txt", "content": name} for name in "abc"]
    machine.replies(act(*write), act({"action": "run_command", "command": "cat *.txt"}), "Done.")
    async with running(machine) as daemon:
        sent = await daemon.prompt("Write.", agent="native", permission_mode="confirm")
        await daemon.answer(sent["run_id"], "always")
        await daemon.until(sent["run_id"], lambda s: len(s.questions) == 2)
        question = await daemon.question(sent["run_id"])
        assert question["tool"] == "run_command"
        await daemon.answer(sent["run_id"], "allow")
        await daemon.ended(sent["run_id"])
        output = (await daemon.events(sent["run_id"], "action.ended"))[-1]["result"]["output"]
    assert output == "abc"


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


@pytest.mark.long(
    "tests/core/test_loop.py::test_a_reply_that_cannot_be_read_goes_back_with_the_reason"
)
async def test_a_reply_that_cannot_be_read_does_nothing_and_goes_back(
    machine: NativeMachine,
) -> None:
    broken = act(PATCH)[:-8]
    machine.replies(broken, {"text": "I see.", "when": "fence is never closed"})
    async with running(machine) as daemon:
        ended = await run(daemon)
        assert "I see." in (await report(daemon, ended["run_id"]))["text"]
        machine.replies(*[broken] * 3)
        failed = await run(daemon)
        assert failed["exit"]["reason"] == "orchestration-error"
    assert machine.read() == BROKEN


@pytest.mark.long(
    "tests/core/test_loop.py::test_a_reply_cut_by_the_limit_of_its_length_is_never_an_answer"
)
async def test_a_reply_that_was_cut_is_no_answer(machine: NativeMachine) -> None:
    machine.replies({"text": act(PATCH), "stop": "length"}, "Again.")
    async with running(machine) as daemon:
        ended = await run(daemon)
        assert ended["exit"]["reason"] == "turn-complete"
    assert machine.read() == BROKEN


@pytest.mark.long(
    "tests/core/test_loop_commits.py::test_an_end_that_is_not_clean_leaves_a_checkpoint_if_it_can"
)
async def test_the_limit_of_replies_ends_the_turn_with_a_checkpoint(
    machine: NativeMachine,
) -> None:
    machine.configure(max_iterations=2)
    machine.replies(act(PATCH), act(READ), act(DONE))
    async with running(machine) as daemon:
        ended = await run(daemon)
        assert ended["exit"]["reason"] == "max-iterations"
        assert ended["exit"]["category"] == "guardrail"
        assert ended["exit"]["message"] == "max iterations (2) reached"
        assert (await report(daemon, ended["run_id"]))["commit"] is not None
    assert machine.subjects[0] == "AI: modified calc.py"


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


@pytest.mark.long("tests/tools/test_shell.py::test_when_the_caller_cancels_nothing_is_left")
async def test_an_interrupt_ends_a_command_with_all_that_it_started(
    machine: NativeMachine,
) -> None:
    begun = machine.project / "begun"
    os.mkfifo(begun)
    command = "(setsid sleep 333 > /dev/null 2>&1 &) ; echo > begun; sleep 300"
    machine.replies(act({"action": "run_command", "command": command}))
    async with running(machine) as daemon:
        sent = await daemon.prompt("Go.", agent="native")
        await trio.to_thread.run_sync(begun.read_bytes, abandon_on_cancel=True)
        await daemon.service.cancel(sent["run_id"])
        told = await report(daemon, sent["run_id"])
    assert told["kind"] == "interrupted"
    last = machine.messages(sent["session_id"])[-1]
    (result,) = last.blocks
    assert isinstance(result, ToolResult)
    assert result.is_error and result.text.startswith("interrupted")


@pytest.mark.long(
    "tests/drivers/native/test_models.py::test_a_server_that_falls_silent_is_given_up"
)
async def test_a_model_that_is_silent_for_too_long_is_given_up(machine: NativeMachine) -> None:
    machine.replies({"text": "Late.", "delay_seconds": 600})
    async with running(machine) as daemon:
        agents = daemon.context.agents
        agents["native"] = replace(agents["native"], idle_timeout_seconds=0.2)
        ended = await run(daemon)
        assert (ended["exit"]["reason"], ended["exit"]["detail"]) == (
            "error",
            "silent for 0.2 s",
        )


@pytest.mark.long(
    "tests/drivers/native/test_ends.py::test_what_a_hook_refuses_and_nobody_mends_ends_with_its_words"
)
async def test_a_hook_that_refuses_the_commit_speaks_to_the_model(machine: NativeMachine) -> None:
    hook = machine.project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngrep -q 'a + b' calc.py || { echo 'wrong sum'; exit 1; }\n")
    hook.chmod(0o755)
    wrong = {**PATCH, "operations": [{**PATCH["operations"][0], "content": ["    return a * b"]}]}
    machine.replies(
        act(wrong, DONE), {"text": act(PATCH, DONE), "when": "wrong sum"}, "Nobody told me."
    )
    async with running(machine) as daemon:
        ended = await run(daemon)
        states = [one["state"] for one in await daemon.events(ended["run_id"], "effect.ended")]
    assert states == ["refused", "committed"]
    assert machine.read() == MENDED
    assert machine.subjects == ["AI: modified calc.py", "Begin"]


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


@pytest.mark.long("tests/tools/test_shell.py::test_input_is_empty_and_there_is_no_terminal")
async def test_a_program_that_asks_for_input_gets_none(machine: NativeMachine) -> None:
    machine.replies(act({"action": "run_command", "command": "read x; echo got:$x"}), "Done.")
    async with running(machine) as daemon:
        ended = await run(daemon)
        (done,) = await daemon.events(ended["run_id"], "action.ended")
    assert done["result"]["output"] == "got:\n"


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
