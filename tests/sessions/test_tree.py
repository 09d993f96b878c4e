"""What is a session, what belongs to one, and what is neither, by what is on the disk."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from podiumd.sessions.index import tree
from podiumd.sessions.index import walk as walking
from podiumd.sessions.index.shapes import Kind
from podiumd.sessions.index.tree import (
    Companion,
    Found,
    Known,
    Root,
    files_below,
    look,
)
from podiumd.sessions.index.walk import Tree, newest, walk
from tests.sessions.support import line, session_id

A, B = session_id(1), session_id(2)


@pytest.fixture
def root(projects: Path) -> Root:
    return Root("claude", projects)


def names(found: Tree) -> list[str]:
    return sorted(file.session_id for file in found.sessions)


def deny(monkeypatch: pytest.MonkeyPatch, call: str, denied: Path) -> None:
    """Have a system call refuse one path."""
    real = getattr(os, call)

    def refuse(path: str | Path, *args: object, **kwargs: object) -> object:
        if str(path) == str(denied):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, call, refuse)


def test_a_transcript_is_a_session(root: Root, project: Path) -> None:
    path = project / f"{A}.jsonl"
    path.write_bytes(b"12345")
    status = path.stat()
    expected = Found(A, "claude", str(path), status.st_dev, status.st_ino, 5, status.st_mtime_ns)
    assert walk([root]).sessions == [expected]
    assert look([root], str(path)) == expected


def test_an_id_is_told_in_lower_case(root: Root, project: Path) -> None:
    path = project / f"{session_id(0xABC).upper()}.jsonl"
    path.touch()
    assert names(walk([root])) == [session_id(0xABC)] == [tree.session_of(str(path))]


@pytest.mark.parametrize("place", [f"{A}/agent-1.jsonl", "x/subagents/agent-1.jsonl", "x/y/z/u"])
def test_other_places_are_nobodys(root: Root, project: Path, place: str) -> None:
    (project / place).parent.mkdir(parents=True)
    (project / place).touch()
    assert walk([root]).companions == []
    assert look([root], str(project / place)) is None


@pytest.mark.parametrize(
    "name",
    [
        "notes.jsonl",
        f"{A}.json",
        f"{A}.jsonl.bak",
        f"x{A}.jsonl",
        f"{A}\n.jsonl",
        ".jsonl",
        "memory",
    ],
)
def test_other_names_are_nobodys(root: Root, project: Path, name: str) -> None:
    (project / name).write_bytes(line(1, sessionId=A))
    assert walk([root]) == Tree(directories=walk([root]).directories)
    assert look([root], str(project / name)) is None


def test_files_beside_a_session_belong_to_it(root: Root, project: Path) -> None:
    expected = []
    files: tuple[tuple[str, str, Kind], ...] = (
        ("subagents", "agent-1.jsonl", "subagent"),
        ("subagents", "agent-1.meta.json", "subagent_meta"),
        ("tool-results", "out.txt", "tool_result"),
    )
    for folder, name, kind in files:
        path = project / A.upper() / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"123")
        expected.append(Companion(A, str(path), kind, 3, path.stat().st_mtime_ns))
    (project / A.upper() / "subagents" / "other.txt").touch()
    (project / A.upper() / "plans").mkdir()
    (project / A.upper() / "plans" / "agent-2.jsonl").touch()
    found = sorted(walk([root]).companions, key=lambda companion: companion.path)
    assert found == expected
    assert [look([root], companion.path) for companion in expected] == expected
    assert look([root], str(project / A.upper() / "subagents" / "other.txt")) is None
    assert look([root], str(project / A.upper() / "plans" / "agent-2.jsonl")) is None


def test_a_sub_agent_of_an_older_release_belongs_to_whom_its_first_record_names(
    root: Root, project: Path
) -> None:
    path = project / "agent-abc.jsonl"
    path.write_bytes(line(1, sessionId=A.upper(), isSidechain=True))
    expected = Companion(A, str(path), "subagent", path.stat().st_size, path.stat().st_mtime_ns)
    assert walk([root]).companions == [expected]
    assert look([root], str(path)) == expected


@pytest.mark.parametrize(
    "content",
    [b"", b"torn", line(1, sessionId=A)[:-1], b"broken\n", line(1), line(1, sessionId="../x")],
)
def test_a_sub_agent_that_names_no_session_is_nobodys(
    root: Root, project: Path, content: bytes
) -> None:
    (project / "agent-abc.jsonl").write_bytes(content)
    assert walk([root]).companions == []
    assert look([root], str(project / "agent-abc.jsonl")) is None


def test_a_sub_agent_whose_session_is_known_is_not_opened(
    root: Root, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "agent-abc.jsonl"
    path.write_bytes(line(1, sessionId=B))
    deny(monkeypatch, "open", path)
    found = walk([root], Known({}, {str(path): (str(path), 0, 0, A)}))
    assert [companion.session_id for companion in found.companions] == [A]
    assert found.problems == []


def test_codex_keeps_its_sessions_by_day(tmp_path: Path) -> None:
    root = Root("codex", tmp_path)
    path = tmp_path / "2026" / "05" / "01" / f"rollout-2026-05-01T10-00-00-{A}.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    (path.parent / f"{B}.jsonl").touch()
    (tmp_path / f"rollout-x-{B}.jsonl").touch()
    (tmp_path / "logs" / "05" / "01").mkdir(parents=True)
    (tmp_path / "logs" / "05" / "01" / path.name).touch()
    found = walk([root])
    assert [(file.session_id, file.agent, file.path) for file in found.sessions] == [
        (A, "codex", str(path))
    ]
    assert look([root], str(path)) == found.sessions[0]
    assert look([root], str(path.parent / f"{B}.jsonl")) is None
    assert look([root], str(tmp_path / "logs" / "05" / "01" / path.name)) is None
    assert look([root], str(path.with_name(path.name.replace(A, B)))) is None


def test_our_own_agent_keeps_its_sessions_side_by_side(tmp_path: Path) -> None:
    root = Root("native", tmp_path)
    path = tmp_path / f"{A}.jsonl"
    path.touch()
    (tmp_path / "below").mkdir()
    for other in (f"{B}.jsonl.new", f"below/{B}.jsonl", "notes.jsonl"):
        (tmp_path / other).touch()
        assert look([root], str(tmp_path / other)) is None
    os.mkfifo(tmp_path / f"{B}.jsonl")
    found = walk([root])
    assert [(file.session_id, file.agent, file.path) for file in found.sessions] == [
        (A, "native", str(path))
    ]
    assert [place for place, _ in found.problems] == [str(tmp_path / f"{B}.jsonl")]
    assert look([root], str(path)) == found.sessions[0]
    assert look([root], str(tmp_path / f"{B}.jsonl")) is None


def test_a_root_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    root = Root("claude", tmp_path / "none")
    assert walk([root]) == Tree()
    assert look([root], str(tmp_path / "none" / "p" / f"{A}.jsonl")) is None


def test_a_path_outside_every_root_is_nobodys(root: Root, tmp_path: Path) -> None:
    assert look([root], str(tmp_path / f"{A}.jsonl")) is None


def test_a_file_in_the_place_of_a_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "projects").touch()
    found = walk([Root("claude", tmp_path / "projects")])
    assert found.unseen == [str(tmp_path / "projects")]


def test_a_path_below_what_is_no_directory_is_not_there(root: Root, projects: Path) -> None:
    (projects / "file").touch()
    assert look([root], str(projects / "file" / f"{A}.jsonl")) is None


# -- links ---------------------------------------------------------------------------------------


def test_a_linked_project_is_read_and_one_that_is_there_twice_once(
    root: Root, projects: Path, project: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"{B}.jsonl").touch()
    (project / f"{A}.jsonl").touch()
    (projects / "-a-link-elsewhere").symlink_to(elsewhere)
    (projects / "-another").symlink_to(elsewhere)
    (projects / "-a-link-beside").symlink_to(project)
    (projects / "-a-loop").symlink_to(projects)
    found = walk([root])
    assert sorted(file.path for file in found.sessions) == sorted(
        [str(project / f"{A}.jsonl"), str(projects / "-a-link-elsewhere" / f"{B}.jsonl")]
    )


def test_a_linked_transcript_is_a_session(root: Root, project: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"123")
    (project / f"{A}.jsonl").symlink_to(target)
    (found,) = walk([root]).sessions
    assert (found.ino, found.size) == (target.stat().st_ino, 3)


# -- what is no file -----------------------------------------------------------------------------


def test_what_bears_the_name_of_a_transcript_and_is_none_is_told_and_not_opened(
    root: Root, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [project / f"{session_id(number)}.jsonl" for number in range(6)]
    os.mkfifo(paths[0])
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(project)  # the path of a socket has a limit
        listener.bind(paths[1].name)
    paths[2].mkdir()
    paths[3].symlink_to("nowhere")
    paths[4].symlink_to(paths[4])
    paths[5].symlink_to("/dev/null")
    found = walk([root])
    assert found.sessions == []
    assert dict(found.problems) == {
        str(paths[0]): "is a named pipe, not a regular file",
        str(paths[1]): "is a socket, not a regular file",
        str(paths[2]): "is a directory, not a regular file",
        str(paths[3]): "is a link that leads nowhere",
        str(paths[4]): "cannot be read: Too many levels of symbolic links",
        str(paths[5]): "is not a regular file",
    }
    assert found.unseen == [str(paths[4])]
    for path in (*paths[:4], paths[5]):
        assert look([root], str(path)) is None
    with pytest.raises(OSError, match="symbolic links"):
        look([root], str(paths[4]))


def test_what_bears_the_name_of_a_companion_and_is_none_is_told(
    root: Root, projects: Path, project: Path, tmp_path: Path
) -> None:
    day = tmp_path / "codex" / "2026" / "05" / "01"
    paths = [
        project / "agent-abc.jsonl",
        project / A / "subagents" / "agent-1.jsonl",
        day / f"rollout-1-{A}.jsonl",
    ]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    (project / B).touch()
    (day / "notes").touch()
    found = walk([root, Root("codex", tmp_path / "codex")])
    assert (found.sessions, found.companions) == ([], [])
    assert sorted(path for path, _ in found.problems) == sorted(map(str, paths))


# -- what cannot be looked at --------------------------------------------------------------------


@pytest.mark.parametrize("below", [".", "..", f"{A}", f"{A}/subagents"])
def test_a_directory_that_cannot_be_read_is_told_and_the_rest_is_found(
    root: Root, projects: Path, project: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    (project / A / "subagents").mkdir(parents=True)
    (projects / "-other").mkdir()
    (projects / "-other" / f"{B}.jsonl").touch()
    denied = Path(os.path.normpath(project / below))
    deny(monkeypatch, "scandir", denied)
    found = walk([root])
    assert found.problems == [(str(denied), "cannot be read: Permission denied")]
    assert found.unseen == [str(denied)]
    assert names(found) == ([] if below == ".." else [B])


def test_a_root_that_cannot_be_looked_at_is_told(
    root: Root, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny(monkeypatch, "stat", projects)
    assert walk([root]).unseen == [str(projects)]


def test_an_older_sub_agent_that_cannot_be_read_is_told(
    root: Root, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "agent-abc.jsonl"
    path.touch()
    deny(monkeypatch, "open", path)
    assert walk([root]).unseen == [str(path)]


def test_a_link_that_cannot_be_followed_is_told(root: Root, projects: Path) -> None:
    (projects / "-loop").symlink_to("-loop")
    assert walk([root]).unseen == [str(projects / "-loop")]


def test_what_vanishes_while_the_tree_is_walked_is_left_out(
    root: Root, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is removed as soon as the names are known."""
    for name in ("-p", "-q"):
        (projects / name / A).mkdir(parents=True)
        (projects / name / f"{A}.jsonl").touch()
        (projects / name / "agent-abc.jsonl").touch()
    (projects / "-link").symlink_to("-p")
    listed = walking._scan

    def list_then_remove(found: Tree, path: str) -> list[os.DirEntry[str]]:
        entries = listed(found, path)
        for entry in entries:
            if entry.name.startswith("-"):
                continue
            if entry.is_dir():
                Path(entry.path).rmdir()
            else:
                Path(entry.path).unlink()
        if path.endswith("projects"):
            (projects / "-q").rename(projects.parent / "moved")
        return entries

    monkeypatch.setattr(walking, "_scan", list_then_remove)
    found = walk([root])
    assert (found.sessions, found.companions, found.problems) == ([], [], [])


def test_an_older_sub_agent_that_vanishes_is_nobodys(tmp_path: Path) -> None:
    assert tree.owner_in(str(tmp_path / "agent-abc.jsonl")) is None


# -- directories ---------------------------------------------------------------------------------


def test_every_directory_where_something_may_appear_is_told(
    root: Root, projects: Path, project: Path, tmp_path: Path
) -> None:
    (project / A / "subagents").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (projects / "-link").symlink_to(tmp_path / "elsewhere")
    expected = [
        projects,
        project,
        project / A,
        project / A / "subagents",
        tmp_path / "elsewhere",
    ]
    assert sorted(walk([root]).directories) == sorted(path.stat().st_ino for path in expected)


def test_all_files_below_new_directories_are_found(projects: Path, project: Path) -> None:
    (project / A / "subagents").mkdir(parents=True)
    paths = [project / f"{A}.jsonl", project / A / "subagents" / "agent-1.jsonl"]
    for path in paths:
        path.touch()
    assert files_below([str(project), str(projects / "gone")]) == set(map(str, paths))


# -- two files of one session --------------------------------------------------------------------


def file(path: str, mtime_ns: int) -> Found:
    return Found(A, "claude", path, 1, 1, 1, mtime_ns)


def test_of_two_files_the_last_written_is_followed() -> None:
    assert newest([file("/a", 1), file("/b", 2)], "/a").path == "/b"
    assert newest([file("/a", 2), file("/b", 1)], None).path == "/a"


def test_of_two_files_written_at_once_the_one_that_is_followed_stays() -> None:
    both = [file("/a", 1), file("/b", 1)]
    assert newest(both, "/a").path == "/a"
    assert newest(both[::-1], "/a").path == "/a"
    assert newest(both, None) == newest(both[::-1], None)


# -- projects whose sessions nobody has spoken in --------------------------------------------


FIRST = session_id(1)


def test_what_another_program_had_named_is_nobodys(projects: Path) -> None:
    root = Root("claude", projects)
    for name in ("-tmp-voice-code-name-inference-7", "-home-voice-code"):
        (projects / name / FIRST / "subagents").mkdir(parents=True)
        (projects / name / FIRST / "subagents" / "agent-1.jsonl").touch()
        (projects / name / f"{A}.jsonl").touch()
    shown = projects / "-home-voice-code"
    found = walk([root])
    assert [each.path for each in found.sessions] == [str(shown / f"{A}.jsonl")]
    assert [each.path for each in found.companions] == [
        str(shown / FIRST / "subagents" / "agent-1.jsonl")
    ]
    hidden = projects / "-tmp-voice-code-name-inference-7" / f"{A}.jsonl"
    assert look([root], str(hidden)) is None
    assert look([root], str(shown / f"{A}.jsonl")) is not None
    inodes = {each.stat().st_ino for each in (projects, shown, hidden.parent)}
    assert inodes <= set(found.directories)  # all are watched
