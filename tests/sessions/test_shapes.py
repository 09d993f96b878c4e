"""Sessions of Qwen Code, Gemini CLI, Kimi Code and Copilot, by what is on the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from podiumd.formats.session import public_id
from podiumd.formats.session_formats import FORMATS
from podiumd.sessions.index import compare
from podiumd.sessions.index.tree import Companion, Found, Known, Root, concerns, look
from podiumd.sessions.index.update import Update, update
from podiumd.sessions.index.walk import Tree, walk

RECORDED = Path(__file__).parents[1] / "fixtures" / "sessions"
AGENTS = pytest.mark.parametrize("agent", ["qwen", "gemini", "kimi", "copilot"])
ID = "0f5a3b52-0000-4000-8000-000000000001"
MESSAGE = f'{{"sessionId":"{ID}"}}\n{{"id":"m","type":"user","content":"Hi"}}\n'
PLACES = {
    "qwen": f"-app/chats/{ID}.jsonl",
    "gemini": "app/chats/session-2026-11-28T08-00-0f5a3b52.jsonl",
    "kimi": f"wd_app_1/session_{ID}/agents/main/wire.jsonl",
    "copilot": f"{ID}/events.jsonl",
}
COMPANIONS = {
    "qwen": [f"-app/subagents/{ID}/agent-a.jsonl", f"-app/subagents/{ID}/agent-a.meta.json"],
    "gemini": [f"app/chats/{ID}/a.jsonl"],
    "kimi": [f"wd_app_1/session_{ID}/agents/agent-0/wire.jsonl"],
    "copilot": [],
}
STRANGE = {
    "qwen": ["-app/chats/notes.jsonl", "-app/meta.json", f"-app/{ID}.jsonl", ".app/chats/x"],
    "gemini": ["app/logs.json", "app/chats/other.jsonl", "app/chats/session-1.json", "bin/rg"],
    "kimi": ["wd_app_1/other/agents/main/wire.jsonl", f"wd_app_1/session_{ID}/logs/kimi.log"],
    "copilot": ["other/events.jsonl", f"{ID}/checkpoints/index.md", ".locks/events.jsonl"],
}


def write(path: Path, text: str = MESSAGE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def own_id(agent: str) -> str:
    return public_id(f"session_{ID}") if agent == "kimi" else ID


def known(found: Tree) -> Known:
    """What the index knows once it has taken up what was found."""
    return Known(
        {one.path: (one.path, one.size, one.mtime_ns, one.ino, one.dev) for one in found.sessions},
        {one.path: (one.path, one.size, one.mtime_ns, one.session_id) for one in found.companions},
        {one.path: one.session_id for one in found.sessions},
    )


@AGENTS
def test_a_session_and_what_belongs_to_it_is_found_and_nothing_else(
    agent: str, tmp_path: Path
) -> None:
    root = Root(agent, tmp_path)
    session = write(tmp_path / PLACES[agent])
    belongs = [str(write(tmp_path / place)) for place in COMPANIONS[agent]]
    strange = [write(tmp_path / place) for place in STRANGE[agent]]
    tree = walk([root])
    assert [(one.session_id, one.path) for one in tree.sessions] == [(own_id(agent), str(session))]
    assert sorted(one.path for one in tree.companions) == sorted(belongs)
    assert {one.session_id for one in tree.companions} <= {own_id(agent)}
    assert tree.problems == []
    assert look([root], str(session)) == tree.sessions[0]
    assert [look([root], path) for path in belongs] == sorted(
        tree.companions, key=lambda one: belongs.index(one.path)
    )
    assert [look([root], str(path)) for path in strange] == [None] * len(strange)
    assert [concerns([root], path) for path in belongs] == [True] * len(belongs)
    assert not any(concerns([root], str(path)) for path in strange)


@AGENTS
def test_every_recorded_session_is_found_once(agent: str) -> None:
    stories = sorted((RECORDED / agent).iterdir())
    counts = {story.name: len(walk([Root(agent, story)]).sessions) for story in stories}
    assert counts == {story.name: 2 if story.name == "forked" else 1 for story in stories}


@AGENTS
def test_what_is_as_it_is_known_is_not_reported_again(agent: str, tmp_path: Path) -> None:
    root = Root(agent, tmp_path)
    path = write(tmp_path / PLACES[agent])
    before = known(walk([root]))
    again = walk([root], before)
    assert (again.sessions, again.same) == ([], {str(path)})
    assert compare.changed(before, again) == compare.Changes()
    path.write_text(MESSAGE * 2)
    assert [one.path for one in compare.changed(before, walk([root], before)).read] == [str(path)]
    path.unlink()
    assert compare.changed(before, walk([root], before)).vanished == [own_id(agent)]


@pytest.mark.parametrize(
    ("agent", "beside"),
    [("kimi", f"wd_app_1/session_{ID}/state.json"), ("copilot", f"{ID}/workspace.yaml")],
)
def test_a_session_has_changed_when_what_says_more_of_it_has(
    agent: str, beside: str, tmp_path: Path
) -> None:
    root = Root(agent, tmp_path)
    path = write(tmp_path / PLACES[agent])
    before = known(walk([root]))
    later = path.stat().st_mtime_ns + 1_000_000
    os.utime(write(tmp_path / beside), ns=(later, later))
    (changed,) = walk([root], before).sessions
    assert (changed.path, changed.mtime_ns) == (str(path), later)
    assert look([root], str(tmp_path / beside)) == changed
    assert concerns([root], str(tmp_path / beside))
    result = update(FORMATS[agent], changed, None)
    assert isinstance(result, Update) and result.row.mtime_ns == later


@AGENTS
def test_directory_and_name_are_read_with_the_session(agent: str, tmp_path: Path) -> None:
    shutil.copytree(RECORDED / agent / "tools", tmp_path / "sessions")
    (found,) = walk([Root(agent, tmp_path / "sessions")]).sessions
    result = update(FORMATS[agent], found, None)
    assert isinstance(result, Update)
    assert result.row.summary.cwd == "/home/dev/project"
    assert result.row.summary.name == "Make a file."


def test_a_file_of_gemini_is_no_session_before_a_message_is_in_it(tmp_path: Path) -> None:
    root = Root("gemini", tmp_path)
    path = write(tmp_path / PLACES["gemini"], MESSAGE.partition("\n")[0] + "\n")
    assert walk([root]).sessions == []
    assert look([root], str(path)) is None
    path.write_text(MESSAGE)
    assert [one.session_id for one in walk([root]).sessions] == [ID]


def test_a_file_of_gemini_that_is_known_is_not_opened_to_learn_whose_it_is(tmp_path: Path) -> None:
    root = Root("gemini", tmp_path)
    path = write(tmp_path / PLACES["gemini"])
    before = known(walk([root]))
    path.write_text("another start, and longer")
    assert [one.session_id for one in walk([root], before).sessions] == [ID]
    assert walk([root]).sessions == []


@AGENTS
def test_pipes_loops_and_links_to_nowhere_are_passed_over(agent: str, tmp_path: Path) -> None:
    root = Root(agent, tmp_path / "sessions")
    path = root.directory / PLACES[agent]
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    (path.parents[0] / "loop").symlink_to(root.directory)
    tree = walk([root])
    assert (tree.sessions, tree.companions) == ([], [])
    assert tree.problems == [(str(path), "is a named pipe, not a regular file")]
    assert look([root], str(path)) is None
    path.unlink()
    path.symlink_to("nowhere")
    assert walk([root]).problems == [(str(path), "is a link that leads nowhere")]
    path.unlink()
    path.mkdir()
    assert walk([root]).problems == [(str(path), "is a directory, not a regular file")]


@pytest.mark.parametrize("agent", ["gemini", "kimi", "copilot"])
def test_a_pipe_where_more_of_a_session_should_stand_keeps_nothing_waiting(
    agent: str, tmp_path: Path
) -> None:
    path = write(tmp_path / PLACES[agent])
    os.mkfifo(path.parent / FORMATS[agent].beside)
    (found,) = walk([Root(agent, tmp_path)]).sessions
    result = update(FORMATS[agent], found, None)
    assert isinstance(result, Update)
    assert result.row.mtime_ns == path.stat().st_mtime_ns


@AGENTS
def test_a_linked_project_is_read_and_its_sessions_are_one(agent: str, tmp_path: Path) -> None:
    root = Root(agent, tmp_path / "sessions")
    write(root.directory / PLACES[agent])
    top = PLACES[agent].split("/")[0]
    (root.directory / "linked").symlink_to(top)
    sessions = walk([root]).sessions
    assert {one.session_id for one in sessions} == {own_id(agent)}
    changes = compare.changed(Known(), walk([root]))
    assert len(changes.read) == 1


def test_what_a_look_finds_has_the_types_that_it_should(tmp_path: Path) -> None:
    root = Root("qwen", tmp_path)
    write(tmp_path / PLACES["qwen"])
    place = write(tmp_path / COMPANIONS["qwen"][1])
    assert isinstance(look([root], str(tmp_path / PLACES["qwen"])), Found)
    found = look([root], str(place))
    assert isinstance(found, Companion) and found.kind == "subagent_meta"
