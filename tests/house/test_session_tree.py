"""The made-up sessions that benchmarks are run on are what their manifest says, every time."""

from pathlib import Path

import pytest

from benchmarks.session_tree import Spec, Tree, differences, make
from podiumd.formats.claude_session import ClaudeSession
from podiumd.formats.session import Summary

SPEC = Spec(seed=5, files=150, mb=2)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return make(SPEC, tmp_path / "tree")


def _files(tree: Tree) -> dict[str, tuple[bytes, int]]:
    return {
        path.relative_to(tree.home).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in tree.projects.rglob("*")
        if path.is_file()
    }


def test_a_seed_gives_the_same_bytes_and_times(tree: Tree, tmp_path: Path) -> None:
    again = make(SPEC, tmp_path / "again")

    assert _files(again) == _files(tree)


def test_another_seed_gives_other_sessions(tree: Tree, tmp_path: Path) -> None:
    other = make(SPEC._replace(seed=6), tmp_path / "other")

    assert not _files(other).keys() & _files(tree).keys()


def test_the_manifest_names_every_file_and_comes_to_the_size_asked_for(tree: Tree) -> None:
    named = {session.path for session in tree.manifest.sessions}
    named |= {companion.path for companion in tree.manifest.companions}

    assert named == _files(tree).keys()
    assert len(tree.manifest.sessions) == SPEC.files
    assert tree.bytes == pytest.approx(SPEC.mb * 10**6, rel=0.25)


def test_some_transcripts_are_damaged_and_some_have_companions(tree: Tree) -> None:
    sessions = tree.manifest.sessions
    kinds = {Path(one.path).parent.name for one in tree.manifest.companions}

    assert any(session.torn for session in sessions)
    assert any(session.bad_lines for session in sessions)
    assert kinds == {"subagents", "tool-results"}


def test_a_plain_reading_finds_what_the_manifest_says(tree: Tree) -> None:
    assert differences(tree) == []


def test_a_message_that_the_manifest_does_not_know_is_found(tree: Tree) -> None:
    path = tree.home / tree.manifest.sessions[0].path
    with path.open("ab") as file:
        file.write(b'\n{"type":"user","uuid":"u","message":{"content":"One more"}}\n')

    assert {text.split(": ")[1].split(" is ")[0] for text in differences(tree)} >= {
        "messages",
        "size",
        "tip",
    }


def test_the_format_module_agrees_with_the_manifest(tree: Tree) -> None:
    for session in tree.manifest.sessions:
        data = (tree.home / session.path).read_bytes()
        summary = Summary()
        ClaudeSession().fold(summary, data[: data.rfind(b"\n") + 1])

        found = (summary.messages, summary.lines, summary.bad_lines, summary.cwd, summary.title)
        told = (session.messages, session.lines, session.bad_lines, session.cwd, session.title)
        assert found == told
        assert summary.last_at == session.last_at
        assert summary.prompt.startswith(session.prompt)


def test_a_tree_is_used_again_and_what_was_changed_is_mended(tree: Tree) -> None:
    before, first = _files(tree), tree.home / tree.manifest.sessions[0].path
    manifest = tree.home / "manifest.json"
    written = manifest.stat().st_mtime_ns

    assert make(SPEC, tree.home) == tree
    assert manifest.stat().st_mtime_ns == written

    first.write_bytes(b"")
    assert make(SPEC, tree.home) == tree
    assert _files(tree) == before
