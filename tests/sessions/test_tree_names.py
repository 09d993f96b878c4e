"""Projects whose sessions nobody has spoken in."""

from __future__ import annotations

from pathlib import Path

from podiumd.sessions.index.tree import Root, look
from podiumd.sessions.index.walk import walk
from tests.sessions.support import session_id

A = session_id(1)


def test_what_another_program_had_named_is_nobodys(projects: Path) -> None:
    root = Root("claude", projects)
    for name in ("-tmp-voice-code-name-inference-7", "-home-voice-code"):
        (projects / name / A / "subagents").mkdir(parents=True)
        (projects / name / A / "subagents" / "agent-1.jsonl").touch()
        (projects / name / f"{A}.jsonl").touch()
    shown = projects / "-home-voice-code"
    found = walk([root])
    assert [each.path for each in found.sessions] == [str(shown / f"{A}.jsonl")]
    assert [each.path for each in found.companions] == [
        str(shown / A / "subagents" / "agent-1.jsonl")
    ]
    hidden = projects / "-tmp-voice-code-name-inference-7" / f"{A}.jsonl"
    assert look([root], str(hidden)) is None
    assert look([root], str(shown / f"{A}.jsonl")) is not None
    inodes = {each.stat().st_ino for each in (projects, shown, hidden.parent)}
    assert inodes <= set(found.directories)  # all are watched
