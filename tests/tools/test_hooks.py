"""Hooks: what they are told, whose word counts, and that nothing of them is left behind."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import trio
from hypothesis import given
from hypothesis import strategies as st

from podiumd.tools.hooks.document import as_json, as_markdown, heading, is_json_of, is_markdown
from podiumd.tools.hooks.hooks import REASON_BYTES, HookResult, run_hook
from podiumd.tools.process.processes import carriers
from tests.tools.fresh_turn import fresh_turn

TOLD = {"event": "before-tool", "tool": "Bash", "input": {"command": "make"}, "ctx": {"a": "ä"}}


async def run(where: Path, *argv: str, turn: str = "", **more: Any) -> HookResult:
    environment = {"PATH": os.environ["PATH"], "PODIUM_TURN": turn or fresh_turn()}
    return await run_hook(argv, TOLD, cwd=where, environment=environment, **more)


async def shell(where: Path, line: str, **more: Any) -> HookResult:
    return await run(where, "sh", "-c", line, **more)


async def test_a_hook_reads_what_happens_as_one_line_of_json_in_the_working_tree(
    tmp_path: Path,
) -> None:
    result = await shell(tmp_path, "cat > heard; pwd > where")
    assert (result.exit_status, result.refused, result.failed) == (0, False, False)
    heard = (tmp_path / "heard").read_text()
    assert heard.endswith("\n") and heard.count("\n") == 1 and json.loads(heard) == TOLD
    assert (tmp_path / "where").read_text() == f"{tmp_path.resolve()}\n"


async def test_status_2_is_a_no_and_its_errors_are_the_reason(tmp_path: Path) -> None:
    result = await shell(tmp_path, "echo not that; echo never on main >&2; exit 2")
    assert result.refused and not result.failed
    assert result.reason == "never on main"


async def test_a_no_without_a_reason_names_the_hook(tmp_path: Path) -> None:
    result = await shell(tmp_path, "exit 2")
    assert result.reason == "'sh' refuses and does not say why"


async def test_any_other_failure_decides_nothing_and_says_what_it_was(tmp_path: Path) -> None:
    broken = await shell(tmp_path, "echo oops >&2; exit 3")
    silent = await shell(tmp_path, "exit 1")
    missing = await run(tmp_path, "no-such-hook")
    assert [r.refused for r in (broken, silent, missing)] == [False] * 3
    assert [r.failed for r in (broken, silent, missing)] == [True] * 3
    assert (broken.exit_status, broken.reason) == (3, "oops")
    assert silent.reason == "'sh' ended with status 1"
    assert missing.exit_status is None and "'no-such-hook' was not found on PATH" in missing.reason


async def test_a_hook_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    turn = fresh_turn()
    line = "sleep 600 & echo so far >&2; exec sleep 600"
    result = await shell(tmp_path, line, turn=turn, limit_seconds=0.3)
    assert result.failed and not result.refused
    assert result.reason == "ended at its time limit of 0.3 s\nso far"
    assert carriers(turn) == []


async def test_of_a_flood_the_end_is_kept_and_output_is_dropped(tmp_path: Path) -> None:
    flood = "import sys; w = sys.stderr.write; [w('ä' * 99999) for _ in range(20)]; w('at last')"
    line = f"{flood}; sys.stdout.write('x' * 999999); sys.exit(2)"
    result = await run(tmp_path, sys.executable, "-I", "-X", "utf8", "-c", line)
    assert result.refused and result.reason.endswith("äat last")
    assert result.reason.startswith("…ä")
    assert len(result.reason.encode()) <= REASON_BYTES + len("…".encode())


async def test_a_cancelled_hook_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    turn = fresh_turn()
    async with trio.open_nursery() as nursery:

        async def hook() -> None:
            await shell(tmp_path, "echo > begun; exec sleep 600", turn=turn)

        nursery.start_soon(hook)
        await trio.to_thread.run_sync((tmp_path / "begun").read_text)
        nursery.cancel_scope.cancel()
    assert carriers(turn) == []


# -- what a conversation has found out, as people and programs read it -----------------------


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)

CONTEXTS = st.dictionaries(st.sampled_from(["a", "b_c", "goal"]), VALUES)


def shown(value: Any) -> str:
    """What stands below a key's heading."""
    text = as_markdown("plan", "p", {"key": value}).decode()
    head, _, body = text.partition("## Key\n\n")
    assert head.startswith("<!-- Written by Podium") and "\n\n# Plan\n\n" in head
    return body.removesuffix("\n")


def test_a_text_stands_as_it_is_and_what_is_empty_says_so() -> None:
    assert shown("  One.\n\n- two  ") == "One.\n\n- two"
    nothing: list[Any] = ["", None, [], {}]
    assert [shown(empty) for empty in nothing] == ["*Nothing yet.*"] * 4
    assert [shown(value) for value in (3, 1.5, True, False, 0)] == [
        "3",
        "1.5",
        "true",
        "false",
        "0",
    ]


def test_lists_and_objects_are_nested_lists() -> None:
    value = {
        "name": "Shop",
        "key_points": ["a", "b\nstill b"],
        "owner": {"first_name": "Ann", "age": None},
        "none": [],
    }
    assert shown(value).splitlines() == [
        "- **Name:** Shop",
        "- **Key points:**",
        "  - a",
        "  - b",
        "    still b",
        "- **Owner:**",
        "  - **First name:** Ann",
        "  - **Age:** *Nothing yet.*",
        "- **None:** *Nothing yet.*",
    ]


def test_a_list_of_objects_begins_each_item_with_the_first_name() -> None:
    value = [{"name": "door", "parts": ["lock"]}, [1, 2]]
    assert shown(value).splitlines() == [
        "- - **Name:** door",
        "  - **Parts:**",
        "    - lock",
        "- - 1",
        "  - 2",
    ]


def test_rows_of_short_values_are_a_table() -> None:
    rows = [{"name": "a|b", "size": 1}, {"name": "c", "size": None}]
    assert shown(rows).splitlines() == [
        "| Name | Size |",
        "| --- | --- |",
        "| a\\|b | 1 |",
        "| c |  |",
    ]
    for other in ({"name": "c"}, {"name": "c", "size": [1]}, {"name": "c\nd", "size": 1}, 3):
        assert "|" not in shown([{"name": "a", "size": 1}, other])


def test_a_bottomless_value_ends_as_json() -> None:
    value: Any = "deep"
    for _ in range(60):
        value = {"down": value}
    text = shown(value)
    assert text.count("\n") == 7 and "`{" in text and "deep" in text


def test_a_name_is_written_as_people_read_it() -> None:
    assert heading("goal_summary") == "Goal summary"
    assert heading("open-points") == "Open points"
    assert heading("") == ""


def test_lone_surrogates_do_not_keep_a_document_from_being_written() -> None:
    assert json.loads(as_json("p", {"a": "\ud800"})) == {"phase": "p", "a": "?"}
    assert b"?" in as_markdown("t", "p", {"a": "\ud800"})


@given(CONTEXTS)
def test_whatever_was_saved_is_in_the_documents_that_know_themselves_again(
    context: dict[str, Any],
) -> None:
    data = as_json("p", context)
    assert json.loads(data) == {"phase": "p", **context}
    assert is_json_of(data, context) and not is_json_of(data, {**context, "more": 1})
    text = as_markdown("t", "p", context)
    assert is_markdown(text) and all(f"## {heading(key)}".encode() in text for key in context)


def test_what_others_wrote_is_not_taken_for_ours() -> None:
    for data in (b"", b"{", b"[]", b'{"a": 1}', b"\xff", b"[" * 100_000):
        assert not is_json_of(data, {"a": 1})
    assert not is_markdown(b"# Plan\n")
