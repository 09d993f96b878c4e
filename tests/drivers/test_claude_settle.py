"""What became of a turn, told by its spool first and its transcript second."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.claude.files import find_transcript
from podiumd.agents.claude.settle import settle
from podiumd.drivers.base import PendingTurn, TurnRequest, TurnStatus
from podiumd.formats.claude_transcript import project_directory_name
from tests.drivers.rig import Rig

TEXT = {"type": "text", "text": "hello"}
TOOL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
DONE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "terminal_reason": "completed",
    "result": "hello",
}
IDLE = {"type": "system", "subtype": "session_state_changed", "state": "idle"}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    message = {"id": "m", "model": "opus", "role": "assistant", "content": list(blocks)}
    return {"type": "assistant", "uuid": "a", "message": message, "parent_tool_use_id": None}


def result_of(tool: str, text: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": tool, "content": text}
    return {"type": "user", "uuid": "u", "message": {"role": "user", "content": [block]}}


class Scene:
    """A turn whose agent is gone, with what it left."""

    def __init__(self, root: Path) -> None:
        self.rig = Rig(root)
        self.request: TurnRequest = self.rig.request()

    def spool(self, *messages: dict[str, Any], tail: bytes = b"", closed: bool = True) -> None:
        lines = [json.dumps(message).encode() + b"\n" for message in messages]
        if closed:
            end = {"type": "command_lifecycle", "command_uuid": self.request.prompt_uuid}
            lines += [json.dumps({**end, "state": "completed"}).encode() + b"\n"]
            lines += [json.dumps(IDLE).encode() + b"\n"]
        Path(self.request.directory, "out.jsonl").write_bytes(b"".join(lines) + tail)

    def transcript(self, *records: dict[str, Any]) -> Path:
        projects = self.rig.home / ".claude" / "projects"
        directory = projects / project_directory_name(str(self.rig.work.resolve()))
        directory.mkdir(parents=True)
        path = directory / f"{self.rig.session_id}.jsonl"
        path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
        return path

    @property
    def prompt(self) -> dict[str, Any]:
        message = {"role": "user", "content": "go"}
        return {"type": "user", "uuid": self.request.prompt_uuid, "message": message}

    async def settled(self, **changes: Any) -> TurnStatus:
        pending: PendingTurn = self.rig.pending(self.request, None, **changes)
        return await settle(pending)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_nothing_at_all_is_absent(scene: Scene) -> None:
    settled = await scene.settled()
    assert (settled.state, settled.session_exists, settled.report) == ("absent", False, None)


async def test_a_prompt_with_nothing_after_it_is_absent_in_a_session_that_exists(
    scene: Scene,
) -> None:
    scene.transcript(scene.prompt)
    settled = await scene.settled()
    assert (settled.state, settled.session_exists) == ("absent", True)
    assert settled.prompt_recorded


async def test_words_in_the_spool_alone_are_absent(scene: Scene) -> None:
    scene.spool(said(TEXT), closed=False)
    scene.transcript({"type": "mode"})
    settled = await scene.settled()
    assert settled.state == "absent" and not settled.prompt_recorded


async def test_a_tool_in_the_spool_is_broken_though_the_transcript_knows_nothing(
    scene: Scene,
) -> None:
    scene.spool(said(TOOL), closed=False)
    settled = await scene.settled()
    assert (settled.state, settled.tool_begun, settled.prompt_recorded) == ("broken", True, False)
    assert settled.report is not None and settled.report.kind == "broken"


async def test_an_answer_begun_in_the_transcript_is_broken(scene: Scene) -> None:
    scene.transcript(scene.prompt, said(TEXT))
    settled = await scene.settled()
    assert (settled.state, settled.tool_begun, settled.prompt_recorded) == ("broken", False, True)
    assert "begun its answer" in settled.detail


async def test_a_result_is_finished_with_the_mark_of_the_transcript(scene: Scene) -> None:
    scene.spool(said(TEXT), DONE)
    path = scene.transcript(scene.prompt, said(TEXT))
    settled = await scene.settled()
    assert settled.state == "finished" and settled.report is not None
    assert (settled.report.kind, settled.report.result_text) == ("done", "hello")
    assert settled.report.mark == {"size": path.stat().st_size, "last_uuid": "a"}
    assert settled.report.exit_status is None and settled.report.prompt_recorded


async def test_a_result_that_ends_in_an_error_is_finished_too(scene: Scene) -> None:
    error = {"is_error": True, "terminal_reason": "api_error", "api_error_status": 500}
    scene.spool({**DONE, **error})
    settled = await scene.settled()
    assert settled.state == "finished"
    assert settled.report is not None and settled.report.kind == "api_error"


async def test_a_result_before_its_agent_went_away_counts(scene: Scene) -> None:
    scene.spool(said(TEXT), DONE, closed=False)
    assert (await scene.settled()).state == "finished"


async def test_a_denial_needs_the_stored_answer_of_a_person(scene: Scene) -> None:
    scene.spool({**DONE, "permission_denials": [{"tool_name": "Bash", "tool_use_id": "t1"}]})
    alone = await scene.settled()
    assert alone.state == "broken" and "Bash was denied" in alone.detail
    assert alone.report is not None and alone.report.kind == "broken"
    assert (await scene.settled(denied_tool_uses=frozenset({"t1"}))).state == "finished"


async def test_a_given_up_approval_is_broken_though_its_result_says_success(scene: Scene) -> None:
    aborted = result_of("t1", "Tool permission request failed: AbortError")
    scene.spool(said(TOOL), aborted, said(TEXT), DONE)
    settled = await scene.settled()
    assert settled.state == "broken" and "approval" in settled.detail


async def test_an_aborted_result_is_broken(scene: Scene) -> None:
    scene.spool({**DONE, "is_error": True, "terminal_reason": "aborted_streaming", "result": ""})
    assert (await scene.settled()).state == "broken"


@pytest.mark.parametrize("messages", [[said(TOOL)], [said(TEXT), DONE]])
@pytest.mark.parametrize("tail", [b'{"type": "resu', b"not json\n"])
async def test_a_hole_in_the_spool_is_not_adopted(
    scene: Scene, tail: bytes, messages: list[dict[str, Any]]
) -> None:
    scene.spool(*messages, closed=False, tail=tail)
    settled = await scene.settled()
    assert settled.state == "broken" and settled.report is not None
    assert settled.report.bad_lines == 1


async def test_steers_that_reached_the_transcript_are_named(scene: Scene) -> None:
    queued = {"type": "queued_command", "source_uuid": "s1", "prompt": "more"}
    scene.transcript(
        scene.prompt,
        {"type": "attachment", "uuid": "x", "attachment": queued},
        {"type": "user", "uuid": "s2", "message": {"role": "user", "content": "again"}},
    )
    sent = (scene.request.prompt_uuid, "s1", "s2", "s3")
    assert (await scene.settled(sent_uuids=sent)).delivered_steers == ("s1", "s2")


def test_the_transcript_is_found_where_the_session_began_and_under_another_home(
    tmp_path: Path, scene: Scene
) -> None:
    path = scene.transcript(scene.prompt)
    session, home = scene.rig.session_id, scene.rig.environment
    assert find_transcript(session, str(scene.rig.work), home) == path
    assert find_transcript(session, str(tmp_path), home) == path
    moved = {**home, "CLAUDE_CONFIG_DIR": str(scene.rig.home / ".claude"), "HOME": "/nowhere"}
    assert find_transcript(session, str(scene.rig.work), moved) == path
    assert find_transcript("*", str(scene.rig.work), home) is None
