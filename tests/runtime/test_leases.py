"""Leases: one holder at a time, across processes, restarts and the daemon's death."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from podiumd.runtime.locks.holder import Holder, encode_record
from podiumd.runtime.locks.leases import Lease, LeaseBook
from podiumd.runtime.locks.lockfile import LeaseError

RUN = Holder(
    kind="run",
    id="run-1",
    turn_id="turn-1",
    pid=os.getpid(),
    state_directory="/state/a",
    since="2026-01-01T00:00:00.000Z",
)
OTHER = Holder(kind="prompt", id="run-2", turn_id="turn-9", state_directory="/state/b")


@pytest.fixture
def book(tmp_path: Path) -> LeaseBook:
    return LeaseBook(tmp_path / "locks")


def taken(result: Lease | Holder) -> Lease:
    assert isinstance(result, Lease), result
    return result


def refused(result: Lease | Holder) -> Holder:
    assert isinstance(result, Holder)
    return result


@contextmanager
def agent(lease: Lease) -> Iterator[subprocess.Popen[bytes]]:
    """A process that inherits the lease and lives until its input is closed."""
    fd = lease.fd
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[fd]) as process:
        yield process


def end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def test_a_session_has_one_holder_and_the_second_is_told_who(book: LeaseBook) -> None:
    with taken(book.try_session("s1", RUN)):
        named = msgspec.structs.replace(RUN, session_id="s1")
        assert refused(book.try_session("s1", OTHER)) == named
        assert book.peek("s1") == named
        taken(book.try_session("s2", OTHER)).release()
    assert book.peek("s1") is None
    taken(book.try_session("s1", OTHER)).release()


def test_two_books_of_one_directory_share_their_leases(book: LeaseBook, tmp_path: Path) -> None:
    with taken(book.try_session("s1", RUN)):
        assert refused(LeaseBook(tmp_path / "locks").try_session("s1", OTHER)).id == "run-1"


def test_a_tree_is_told_by_its_real_path(book: LeaseBook, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "link").symlink_to(tree)
    with taken(book.try_tree(tree, RUN)):
        holder = refused(book.try_tree(tmp_path / "link", OTHER))
        assert (holder.id, holder.working_directory) == ("run-1", str(tree))
        assert book.peek_tree(str(tmp_path / "link" / ".." / "tree")) == holder
    assert book.peek_tree(tree) is None


def test_a_tree_with_a_name_that_is_no_utf8_is_held_like_any_other(book: LeaseBook) -> None:
    with taken(book.try_tree(b"/no/such/\xff\n tree".decode("utf-8", "surrogateescape"), RUN)):
        other = b"/no/such/\xfe\n tree".decode("utf-8", "surrogateescape")
        taken(book.try_tree(other, OTHER)).release()
        held = book.peek_tree(b"/no/such/\xff\n tree".decode("utf-8", "surrogateescape"))
        assert held is not None
        assert held.working_directory == "/no/such/?\n tree"


def test_the_record_follows_the_turns(book: LeaseBook) -> None:
    lease = taken(book.try_session("s1", RUN))
    lease.update(turn_id="turn-2", pid=4711)
    held = book.peek("s1")
    assert held is not None
    assert held == lease.holder
    assert (held.turn_id, held.pid, held.id) == ("turn-2", 4711, "run-1")
    lease.release()
    with pytest.raises(LeaseError, match=r"session-s1\.lock is not held by this process"):
        lease.update(turn_id="turn-3")


def test_a_lease_that_was_given_back_says_so_and_can_be_taken_again(book: LeaseBook) -> None:
    lease = taken(book.try_session("s1", RUN))
    assert lease.held
    lease.release()
    lease.release()
    assert not lease.held
    with pytest.raises(LeaseError):
        _ = lease.fd
    other = taken(book.try_session("s1", OTHER))
    assert not lease.reclaim()
    other.release()
    assert lease.reclaim()
    assert lease.reclaim()
    assert refused(book.try_session("s1", OTHER)).id == "run-1"
    lease.release()


def test_the_descriptor_is_not_inherited_unless_passed_on(book: LeaseBook) -> None:
    with taken(book.try_session("s1", RUN)) as lease:
        assert not os.get_inheritable(lease.fd)


def test_an_agent_keeps_the_lease_after_its_daemon_forgot_it(book: LeaseBook) -> None:
    lease = taken(book.try_session("s1", RUN))
    with agent(lease) as process:
        lease.forget_fd()
        lease.forget_fd()
        assert not lease.held
        assert refused(book.try_session("s1", OTHER)).same_turn(RUN)
        end(process)
    taken(book.try_session("s1", OTHER)).release()


def test_release_does_not_free_the_lease_under_an_agent_that_was_not_seen_to_end(
    book: LeaseBook,
) -> None:
    lease = taken(book.try_session("s1", RUN))
    with agent(lease) as process:
        lease.release()
        assert refused(book.try_session("s1", OTHER)).id == "run-1"
        end(process)


def test_release_frees_the_lease_at_once_when_the_agent_was_seen_to_end(book: LeaseBook) -> None:
    lease = taken(book.try_session("s1", RUN))
    with agent(lease) as process:  # stands for a child between fork and exec with a stray copy
        lease.heir_ended()
        lease.release()
        taken(book.try_session("s1", OTHER)).release()
        end(process)


def test_a_dead_daemons_lease_is_held_by_its_agent_and_adopted_by_the_next(
    book: LeaseBook, tmp_path: Path
) -> None:
    """A daemon takes the lease, starts an agent and is killed; the agent works on."""
    script = f"""
import os, subprocess
from pathlib import Path
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.leases import LeaseBook
lease = LeaseBook(Path({str(tmp_path / "locks")!r})).try_session(
    "s1", Holder(kind="run", id="run-1", turn_id="turn-1", state_directory="/state/a"))
agent = subprocess.Popen(["cat"], pass_fds=[lease.fd])
print(agent.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=reading,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as daemon:
        os.close(reading)
        assert daemon.stdout is not None
        pid = int(daemon.stdout.readline())
        assert daemon.wait() == -9

    adopted = taken(book.adopt_session("s1", RUN))
    assert not adopted.held
    assert adopted.holder.since is None, "it keeps what the record says"
    assert not adopted.reclaim()
    for stranger in (
        msgspec.structs.replace(RUN, state_directory="/state/b"),
        msgspec.structs.replace(RUN, turn_id="turn-2"),
        msgspec.structs.replace(RUN, id="run-2"),
        msgspec.structs.replace(RUN, turn_id=None),
    ):
        assert refused(book.adopt_session("s1", stranger)).id == "run-1"

    descriptor = os.pidfd_open(pid)
    os.close(writing)
    assert select.select([descriptor], [], [], 10)[0], "the agent ends with its input"
    os.close(descriptor)
    assert adopted.reclaim()
    assert adopted.held
    assert refused(book.try_session("s1", OTHER)).same_turn(RUN)
    adopted.release()


def test_adopting_a_session_that_nobody_holds_takes_it(book: LeaseBook) -> None:
    lease = taken(book.adopt_session("s1", RUN))
    assert lease.held
    lease.release()


@pytest.mark.parametrize("garbage", [b"", b"{", b"\xff\xfe\x00", b"[]", b'{"kind":"cat"}', b"null"])
def test_a_record_that_says_nothing_is_an_unknown_holder_and_still_busy(
    book: LeaseBook, tmp_path: Path, garbage: bytes
) -> None:
    with taken(book.try_session("s1", RUN)):
        (tmp_path / "locks" / "session-s1.lock").write_bytes(garbage)
        unknown = Holder(kind="foreign", session_id="s1")
        assert refused(book.try_session("s1", OTHER)) == unknown
        assert refused(book.adopt_session("s1", RUN)) == unknown
        assert book.peek("s1") == unknown


def test_a_stale_record_on_a_free_lock_means_nothing(book: LeaseBook, tmp_path: Path) -> None:
    (tmp_path / "locks" / "session-s1.lock").write_bytes(encode_record(RUN))
    assert book.peek("s1") is None
    taken(book.try_session("s1", OTHER)).release()


def test_somebody_looking_does_not_make_a_free_session_busy(
    book: LeaseBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "locks" / "session-s1.lock"
    with path.open("wb") as looker:
        fcntl.flock(looker, fcntl.LOCK_SH)
        attempts = 0

        def flock(fd: int, operation: int) -> None:
            nonlocal attempts
            attempts += 1
            if attempts == 3:
                real(looker.fileno(), fcntl.LOCK_UN)
            real(fd, operation)

        real = fcntl.flock
        monkeypatch.setattr("podiumd.runtime.locks.lockfile.fcntl.flock", flock)
        taken(book.try_session("s1", RUN)).release()
        assert attempts > 3


def test_a_shared_lock_that_never_ends_is_busy_in_the_end(book: LeaseBook, tmp_path: Path) -> None:
    with (tmp_path / "locks" / "session-s1.lock").open("wb") as looker:
        fcntl.flock(looker, fcntl.LOCK_SH)
        assert refused(book.try_session("s1", RUN)) == Holder(kind="foreign", session_id="s1")


@pytest.mark.parametrize("successor", [True, False])
def test_a_lock_file_replaced_in_the_moment_of_locking_is_noticed(
    book: LeaseBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, successor: bool
) -> None:
    path = tmp_path / "locks" / "session-s1.lock"
    real = fcntl.flock
    replaced = False

    def flock(fd: int, operation: int) -> None:
        nonlocal replaced
        real(fd, operation)
        if not replaced:
            replaced = True
            path.unlink()
            if successor:
                path.touch(0o600)

    monkeypatch.setattr("podiumd.runtime.locks.lockfile.fcntl.flock", flock)
    with taken(book.try_session("s1", RUN)) as lease:
        assert os.fstat(lease.fd).st_ino == path.stat().st_ino
        assert refused(book.try_session("s1", OTHER)).id == "run-1"


async def test_all_that_is_held_is_listed_and_files_of_others_are_passed_over(
    book: LeaseBook, tmp_path: Path
) -> None:
    (tmp_path / "locks" / "notes.txt").write_text("mine")
    (tmp_path / "locks" / "session-old.lock").write_bytes(encode_record(OTHER))
    with ExitStack() as held:
        held.enter_context(taken(book.try_session("s2", OTHER)))
        held.enter_context(taken(book.try_session("s1", RUN)))
        held.enter_context(taken(book.try_tree(tmp_path, RUN)))
        found = await book.all_held()
    assert [(one.session_id, one.working_directory, one.id) for one in found] == [
        ("s1", None, "run-1"),
        ("s2", None, "run-2"),
        (None, str(tmp_path), "run-1"),
    ]
    assert await book.all_held() == []


async def test_a_lock_with_several_names_is_listed_once_by_that_of_its_record(
    book: LeaseBook,
) -> None:
    with taken(book.try_session("m", RUN)):
        for other in ("a", "z"):
            assert book.name_also("m", other) is None
        [found] = await book.all_held()
    assert found.session_id == "m"


async def test_a_directory_that_was_removed_is_made_anew(book: LeaseBook, tmp_path: Path) -> None:
    (tmp_path / "locks").rmdir()
    assert await book.all_held() == []
    assert book.peek("s1") is None
    taken(book.try_session("s1", RUN)).release()


def test_a_lease_is_given_back_also_where_its_record_cannot_be_emptied(
    book: LeaseBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = taken(book.try_session("s", RUN))

    def broken(fd: int, length: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", broken)
        lease.release()
    assert not lease.held
    taken(book.try_session("s", RUN)).release()
