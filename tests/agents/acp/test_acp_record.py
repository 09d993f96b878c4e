"""The record of a session whose agent's files are not read: whole, each row once, and said so."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from podiumd.agents.acp import record
from podiumd.agents.acp.driver import AcpDriver
from podiumd.agents.acp.record import keep
from podiumd.agents.acp.rows import ONLY_OURS
from podiumd.agents.acp.script import YOU_ANSWERED, Script, store
from podiumd.drivers.base import Driver
from podiumd.drivers.spool import SpoolWatch, watch_spools
from podiumd.formats.acp.session import AcpSession
from podiumd.formats.message import Message, Text, Thinking, ToolResult, ToolUse
from tests.drivers.kit.bench import ALLOWING, Bench, command, own_name
from tests.drivers.kit.fake_acp import UNSPOKEN
from tests.drivers.kit.subjects import ACP_SETTINGS, SUBJECTS, Subject

TURN = "turn-1"
PROMPT = "0b1f3a62-0000-4000-8000-000000000001"


def _forgetful(watch: SpoolWatch, megabytes: Callable[[], int]) -> Driver:
    settings = replace(ACP_SETTINGS, resume="no")
    return AcpDriver(watch, megabytes, agent="fake", settings=lambda: settings)


FORGETS = Subject("forgets", "acp", _forgetful, UNSPOKEN)
"""An agent that goes on with no session."""


def update(what: str, **fields: Any) -> dict[str, Any]:
    params = {"sessionId": "s", "update": {"sessionUpdate": what, **fields}}
    return {"method": "session/update", "params": params}


def text(words: str, kind: str = "agent_message_chunk", **fields: Any) -> dict[str, Any]:
    return update(kind, content={"type": "text", "text": words}, **fields)


def mark(name: str) -> dict[str, Any]:
    return {"id": name, "error": {"code": -32601, "message": "no such method"}}


NONE = {"type": "content", "content": {"type": "text", "text": "none"}}
BEGINNING: list[dict[str, Any]] = [
    {"id": "initialize", "result": {"protocolVersion": 1}},
    {"id": "open", "result": {"sessionId": "s"}},
]
SAID: list[dict[str, Any]] = [
    text("said before"),  # of an earlier turn
    *BEGINNING,
    mark("f:prompt"),
    mark("m:prompt"),
    text("Hm", "agent_thought_chunk"),
    text("m.", "agent_thought_chunk"),
    text("I lo"),
    text("ok."),
    update("tool_call", toolCallId="t", kind="execute", status="pending"),
    update("tool_call_update", toolCallId="t", status="in_progress", rawInput={"command": "ls"}),
    update(
        "tool_call_update",
        toolCallId="t",
        status="failed",
        content=[{"type": "content", "content": {"text": "none"}}],
    ),
    text("Done.", messageId="2"),
    {"id": "prompt", "result": {"stopReason": "end_turn"}},
]


def turn(root: Path, lines: list[dict[str, Any]], name: str = TURN) -> Path:
    """A turn's directory, as it was left."""
    directory = root / "turns" / name
    directory.mkdir(parents=True)
    script = Script(
        agent="fake",
        how="new",
        session="",
        cwd="/w",
        servers=(),
        prompt="Be brief.\n\nLook around",
        asked="Look around",
        uuid=PROMPT,
    )
    store(script, str(directory))
    spool = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    (directory / "out.jsonl").write_bytes(spool)
    return directory


def messages(file: Path) -> list[Message]:
    """The messages of a record, as the index reads them."""
    read = [AcpSession().message(line) for line in file.read_bytes().splitlines()]
    return [one for one in read if one is not None]


def test_what_was_said_and_done_is_messages_and_nothing_of_the_past_is(tmp_path: Path) -> None:
    keep(turn(tmp_path, SAID), TURN, file := tmp_path / "sessions" / "s.jsonl")
    blocks = [(one.role, one.blocks[0]) for one in messages(file)]
    assert blocks == [
        ("assistant", Text(ONLY_OURS)),
        ("user", Text("Look around")),
        ("assistant", Thinking("Hmm.")),
        ("assistant", Text("I look.")),
        ("assistant", ToolUse("t", "Bash", {"command": "ls"})),
        ("user", ToolResult("t", "none", is_error=True)),
        ("assistant", Text("Done.")),
    ]
    assert messages(file)[1].uuid == PROMPT and file.stat().st_mode & 0o077 == 0


def test_a_turn_is_written_once_however_often_and_after_a_torn_row(tmp_path: Path) -> None:
    directory = turn(tmp_path, SAID)
    file = tmp_path / "sessions" / "s.jsonl"
    keep(directory, TURN, file)
    whole = file.read_bytes()
    keep(directory, TURN, file)
    assert file.read_bytes() == whole
    os.truncate(file, len(whole) - 20)
    keep(directory, TURN, file)
    assert [one.text for one in messages(file)][-1] == "Done."
    assert len(messages(file)) == whole.count(b"\n")


def test_a_further_turn_follows_and_says_no_more_what_the_record_is(tmp_path: Path) -> None:
    file = tmp_path / "sessions" / "s.jsonl"
    keep(turn(tmp_path, SAID), TURN, file)
    first = len(messages(file))
    (tmp_path / "turns").rename(tmp_path / "old")
    directory = turn(tmp_path, SAID, "turn-2")
    keep(directory, "turn-2", file)
    # The prompts of the two have one uuid here, so the second one is none.
    assert len(messages(file)) == 2 * first - 2
    assert [one.text for one in messages(file)].count(ONLY_OURS) == 1


def test_a_record_and_its_name_are_on_the_disk_before_the_turn_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "agent-sessions" / "fake" / "s.jsonl"
    synced: list[int] = []
    sync = os.fsync
    directory = turn(tmp_path, SAID)

    def noted(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    keep(directory, TURN, file)
    assert synced == [path.stat().st_ino for path in (file, *file.parents[:3])]


@pytest.mark.parametrize("fails", ["write", "fsync"])
async def test_of_a_turn_that_the_disk_does_not_take_no_part_stays_and_the_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: str
) -> None:
    def full(descriptor: int, data: bytes = b"") -> int:
        if data and os.fstat(descriptor).st_size < len(before) + 10:
            return os.write(descriptor, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with watch_spools() as watch:
        bench = Bench(SUBJECTS["acp"], tmp_path, watch)
        request = bench.request()
        state = Path(request.directory).parents[1]
        file = state / "agent-sessions" / "fake" / f"{request.session_id}.jsonl"
        keep(turn(tmp_path / "earlier", SAID), TURN, file)
        before = file.read_bytes()
        monkeypatch.setattr(record, "os", SimpleNamespace(**vars(os) | {fails: full}))
        report, _ = await bench.play(request)
    assert report.kind == "done" and file.read_bytes() == before
    assert "A turn is not in its session's record" in caplog.text


@pytest.mark.parametrize("lines", [[], BEGINNING])
def test_a_turn_whose_prompt_has_not_arrived_makes_no_record(
    tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    keep(turn(tmp_path, lines), TURN, file := tmp_path / "sessions" / "s.jsonl")
    keep(tmp_path / "nothing", TURN, file)
    assert not file.exists()


@pytest.mark.parametrize("point", ["record.before-write", "record.after-write"])
async def test_a_daemon_killed_at_the_record_leaves_each_row_once(
    tmp_path: Path, point: str
) -> None:
    async with watch_spools() as watch:
        bench = Bench(SUBJECTS["acp"], tmp_path, watch)
        bench.script({"text": "first", "tools": [command("echo x >> made")]}, {"text": "last"})
        request = bench.request()
        await bench.killed_at(point, request)
        report, _ = await bench.goes_on(bench.pending(request, None), ALLOWING)
    assert report.kind == "done"
    state = Path(request.directory).parents[1]
    file = state / "agent-sessions" / "fake" / f"{request.session_id}.jsonl"
    words = [one.text for one in messages(file) if one.text]
    assert words == [ONLY_OURS, "go", "first", "last"]
    assert bench.ran == ["echo x >> made"]


async def test_an_agent_that_goes_on_with_no_session_is_told_what_was_asked_and_said(
    tmp_path: Path,
) -> None:
    async with watch_spools() as watch:
        bench = Bench(FORGETS, tmp_path, watch)
        bench.script({"text": "It is done."}, {"text": "complete"})
        _, events = await bench.play()
        request = bench.request(
            "How did it go?", session_mode="resume", agent_session_id=own_name(events)
        )
        report, again = await bench.play(request)
    assert report.texts == ("complete",) and own_name(again) != own_name(events)
    assert bench.prompts == ["go", f"go\n\n{YOU_ANSWERED}\n\nIt is done.\n\nHow did it go?"]


async def test_with_nothing_to_tell_it_a_session_is_not_gone_on_with(tmp_path: Path) -> None:
    async with watch_spools() as watch:
        bench = Bench(FORGETS, tmp_path, watch)
        request = bench.request("Hm?", session_mode="resume", agent_session_id="s")
        report, _ = await bench.play(request)
    assert report.kind == "failed" and "does not go on with sessions" in report.detail
