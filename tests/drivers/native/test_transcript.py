"""A session's file holds each row once, whole, whatever ended its writer."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from podiumd.agents.native.transcript import Row, RowAction, RowResult, SessionFile, read_rows
from podiumd.formats.native_session import ROLES, NativeSession
from podiumd.formats.session import Cursor


def row(uuid: str, text: str = "words") -> Row:
    return Row(type="prompt", uuid=uuid, turn="t", timestamp="2026-11-22T09:00:00.000Z", text=text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "11111111-1111-4111-8111-111111111111.jsonl"


def test_a_file_is_made_for_its_person_alone(path: Path) -> None:
    with SessionFile(path) as session:
        assert session.append(row("a")) == [row("a")]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_row_is_written_once_in_all_lives_of_its_writer(path: Path) -> None:
    with SessionFile(path) as session:
        session.append(row("a"), row("a"), row("b"))
    with SessionFile(path) as session:
        assert session.append(row("b"), row("c"), row("a")) == [row("c")]
        assert [one.uuid for one in session.rows] == ["a", "b", "c"]
    assert [one.uuid for one in read_rows(path.read_bytes())] == ["a", "b", "c"]


def test_every_field_comes_back_as_it_was_written(path: Path) -> None:
    whole = Row(
        type="reply",
        uuid="r",
        turn="t",
        timestamp="2026-11-22T09:00:00.000Z",
        number=2,
        cwd="/x",
        text='é "quoted"\n',
        said="é",
        actions=(RowAction("t/2/0", "patch", {"file": "a", "operations": [{"line": 1}]}),),
        results=(RowResult("t/2/0", "patch", success=False, message="no", critical=True),),
        model="m",
    )
    with SessionFile(path) as session:
        session.append(whole)
    with SessionFile(path) as session:
        assert session.rows == [whole]


def test_a_line_that_a_crash_has_cut_counts_for_nothing_and_harms_no_other(path: Path) -> None:
    with SessionFile(path) as session:
        session.append(row("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    with SessionFile(path) as session:
        session.append(row("b"))
    with SessionFile(path) as session:
        assert [one.uuid for one in session.rows] == ["a", "b"]


def test_a_cut_at_every_byte_leaves_whole_rows_alone(path: Path) -> None:
    with SessionFile(path) as session:
        session.append(row("a"), row("b"))
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with SessionFile(path) as session:
            session.append(row("a"), row("b"))
            assert [one.uuid for one in session.rows] == ["a", "b"]
        assert [one.uuid for one in read_rows(path.read_bytes())] == ["a", "b"]


def test_of_what_a_full_disk_refuses_nothing_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with SessionFile(path) as session:
        session.append(row("a"))
        before = path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", refuse)
            with pytest.raises(OSError, match="No space"):
                session.append(row("b"))
        assert path.read_bytes() == before
        assert session.append(row("b")) == [row("b")]


def test_rows_that_need_not_last_do_not_wait_for_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    with SessionFile(path) as session:
        session.append(row("a"), durable=False)
        assert flushed == []
        assert session.append(row("a")) == [] and len(flushed) == 1


def test_no_file_is_left_of_a_turn_that_came_to_nothing(path: Path) -> None:
    with SessionFile(path):
        assert path.exists()
    assert not path.exists()


def test_a_fork_has_what_its_origin_had_and_goes_its_own_way(path: Path) -> None:
    fork = path.with_name("22222222-2222-4222-8222-222222222222.jsonl")
    with SessionFile(path) as session:
        session.append(row("a"))
    with SessionFile(fork, copy_of=path) as session:
        session.append(row("b"))
    with SessionFile(path) as session:
        session.append(row("c"))
    with SessionFile(fork, copy_of=path) as session:
        assert [one.uuid for one in session.rows] == ["a", "b"]
    assert sorted(one.name for one in path.parent.iterdir()) == sorted([path.name, fork.name])


def test_a_link_in_the_place_of_the_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), SessionFile(path):  # noqa: PT011 - ELOOP, by whatever name
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_the_reader_of_sessions_reads_what_is_written(path: Path) -> None:
    with SessionFile(path) as session:
        session.append(
            row("a", "Fix it"),
            Row(type="reply", uuid="b", turn="t", timestamp="", said="Done.", text="Done."),
        )
    reader, data = NativeSession(), path.read_bytes()
    found = [
        reader.message(data[one.offset : one.offset + one.length])
        for one in reader.entries(Cursor(), data)
    ]
    assert [(one.role, one.text) for one in found if one] == [
        ("user", "Fix it"),
        ("assistant", "Done."),
    ]
    assert set(ROLES) == {"prompt", "reply", "results", "notice"}
