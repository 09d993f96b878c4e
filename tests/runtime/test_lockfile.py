"""Lock files and their directory: private, never followed elsewhere, clear in refusal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.runtime.locks import lockfile
from podiumd.runtime.locks.holder import RECORD_BYTES, UNKNOWN, Holder, decode_record, encode_record
from podiumd.runtime.locks.leases import Lease, LeaseBook
from podiumd.runtime.locks.lockfile import LeaseError, lock_directory
from tests.plain import plain

RUN = Holder(
    kind="run",
    id="run-1",
    turn_id="turn-1",
    pid=os.getpid(),
    state_directory="/state/a",
    since="2026-01-01T00:00:00.000Z",
)


@pytest.fixture
def book(tmp_path: Path) -> LeaseBook:
    return LeaseBook(tmp_path / "locks")


def taken(result: Lease | Holder) -> Lease:
    assert isinstance(result, Lease), result
    return result


@pytest.mark.parametrize("name", ["", "../s1", "a/b", "a\0b", ".hidden", "-x", "x" * 129, "a\n"])
def test_an_id_that_could_leave_the_directory_is_refused(book: LeaseBook, name: str) -> None:
    with pytest.raises(ValueError, match="is no session id"):
        book.try_session(name, RUN)
    with pytest.raises(ValueError, match="is no session id"):
        book.peek(name)


def test_the_directory_is_made_for_its_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        book = LeaseBook(tmp_path / "a" / "b" / "locks")
        taken(book.try_session("s1", RUN)).release()
    finally:
        os.umask(before)
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    }
    assert modes == {"a": 0o700, "b": 0o700, "locks": 0o700, "session-s1.lock": 0o600}


def test_a_directory_others_may_enter_is_refused_with_the_remedy(tmp_path: Path) -> None:
    directory = tmp_path / "locks"
    directory.mkdir(mode=0o755)
    with pytest.raises(LeaseError, match=f"has mode 0755; run: chmod 700 '{directory}'"):
        LeaseBook(directory)


def test_a_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "locks").symlink_to("elsewhere")
    with pytest.raises(LeaseError, match=r"is not a directory \(links are not followed"):
        LeaseBook(tmp_path / "locks")


def test_a_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LeaseBook(tmp_path / "locks")
    owner = os.geteuid()
    monkeypatch.setattr("podiumd.runtime.locks.lockfile.os.geteuid", lambda: owner + 1)
    with pytest.raises(LeaseError, match=f"belongs to user {owner}, not to {owner + 1}"):
        LeaseBook(tmp_path / "locks")


def test_a_place_where_no_directory_can_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LeaseError, match="cannot be made: Not a directory"):
        LeaseBook(tmp_path / "file" / "locks")


def test_a_link_or_a_pipe_in_place_of_a_lock_file_is_refused(
    book: LeaseBook, tmp_path: Path
) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "locks" / "session-s1.lock").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "locks" / "session-s2.lock")
    with pytest.raises(LeaseError, match=r"session-s1\.lock cannot be opened"):
        book.try_session("s1", RUN)
    with pytest.raises(LeaseError, match=r"session-s2\.lock is not a regular file"):
        book.try_session("s2", RUN)
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_file_system_without_locks_is_told(
    book: LeaseBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(fd: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    open_before = set(Path("/proc/self/fd").iterdir())
    monkeypatch.setattr("podiumd.runtime.locks.lockfile.fcntl.flock", flock)
    with pytest.raises(LeaseError, match="no usable locks: Operation not supported"):
        book.try_session("s1", RUN)
    assert set(Path("/proc/self/fd").iterdir()) == open_before


def test_with_a_full_disk_no_lease_is_taken_that_names_nobody(
    book: LeaseBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("podiumd.runtime.locks.lockfile.os.pwrite", lambda *_: 10)
        with pytest.raises(OSError, match="No space left"):
            book.try_session("s1", RUN)
    assert book.peek("s1") is None


def test_the_directory_lies_under_home_and_nothing_else_moves_it() -> None:
    environ = {"HOME": "/home/u", "PODIUM_HOME": "/p", "XDG_STATE_HOME": "/x"}
    assert lock_directory(environ, "linux") == Path("/home/u/.local/state/podium-locks")
    assert lock_directory(environ, "darwin") == Path(
        "/home/u/Library/Application Support/podium-locks"
    )
    for home in ({}, {"HOME": ""}, {"HOME": "relative"}):
        with pytest.raises(LeaseError, match="an absolute path is needed"):
            lock_directory(home)


def test_the_record_of_a_file_that_is_gone_names_nobody(tmp_path: Path) -> None:
    assert lockfile.read_record(tmp_path / "gone") == UNKNOWN


def test_the_public_form_has_only_what_is_known() -> None:
    assert plain(RUN.public()) == {
        "kind": "run",
        "id": "run-1",
        "pid": os.getpid(),
        "since": "2026-01-01T00:00:00.000Z",
    }
    assert plain(UNKNOWN.public()) == {"kind": "foreign"}


TEXTS = st.none() | st.text()


@given(
    holder=st.builds(
        Holder,
        kind=st.sampled_from(["run", "prompt", "foreign"]),
        id=TEXTS,
        turn_id=TEXTS,
        pid=st.none() | st.integers(1, 2**31),
        state_directory=TEXTS | st.text(min_size=2000, max_size=3000),
        working_directory=TEXTS,
    )
)
def test_a_record_comes_back_as_it_was_written_and_cut_short_names_nobody(holder: Holder) -> None:
    record = encode_record(holder)
    assert len(record) % RECORD_BYTES == 0
    assert decode_record(record) == holder
    assert decode_record(record.rstrip()[:-1]) == UNKNOWN
