"""What may go from STATE goes when retention or a person says so; what is in use or kept stays."""

from __future__ import annotations

import os
import sys
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.config.settings import RetentionSettings
from podiumd.runtime.errors import InvalidParameter, Refused
from podiumd.runtime.locks import lockfile
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.maintenance.storage import Storage
from podiumd.runtime.public_sessions import PublicSessions
from podiumd.store.facts import Store
from podiumd.wire.daemon import Pruned
from tests.runtime.harness import BEGIN, Daemon, Machine, fields_of, running
from tests.runtime.test_session_list import listed, ready, write
from tests.store.support import a_fact, a_run

DAY = 24 * 60 * 60


def storage_of(daemon: Daemon, **kept: int) -> Storage:
    context = replace(daemon.context, retention=lambda: RetentionSettings(**kept))
    return Storage(
        context,
        PublicSessions(daemon.transcripts, daemon.store, daemon.context.family),
        daemon.runs,
    )


def parts(told: Pruned) -> dict[str, tuple[int, int]]:
    """How many of each part, and their bytes."""
    return {one.part: (one.count, one.bytes) for one in told.parts}


def aged(path: Path, days: float, data: bytes = b"x") -> Path:
    """A file that was written so many days before ``BEGIN``, and some more before now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    at = BEGIN.timestamp() - days * DAY
    os.utime(path, (at, at))
    return path


def transcript(machine: Machine, session: str, days: float) -> Path:
    return aged(machine.state / "sessions" / f"{session}.jsonl", days, b"12345")


async def marked(store: Store, *sessions: str, of_run: bool) -> None:
    """Sessions with a mark; ``of_run``: each is the last session of a run."""
    for session in sessions:
        run = a_run(f"run-{session}", status="ended", ended_at="2025-12-31T00:00:00.000Z")
        last = session if of_run else None
        await store.append(replace(run, session_id=last), [a_fact()], mark=(session, b"{}"))


async def test_marks_go_that_no_run_has_any_more(machine: Machine) -> None:
    async with running(machine) as daemon:
        await marked(daemon.store, "a", "c", of_run=True)
        await marked(daemon.store, "b", "d", of_run=False)
        care = storage_of(daemon)
        assert parts(await care.prune(dry_run=True)) == {"marks": (2, 4)}
        assert await daemon.store.mark("b") == b"{}"
        assert parts(await care.prune()) == {"marks": (2, 4)}
        marks = [await daemon.store.mark(name) for name in "abcd"]
        assert marks == [b"{}", None, b"{}", None]
        assert parts(await care.prune()) == {}
        [line] = fields_of(daemon.logged, "Pruned")
        assert line["marks"] == 2


async def test_the_mark_of_a_session_that_a_run_goes_on_in_stays(machine: Machine) -> None:
    """A run is in another session just now, and comes back to this one."""
    async with running(machine) as daemon:
        _run_id, turn = await daemon.begun(machine.one_step())
        session = turn.request.session_id
        other = a_run("other", status="ended", session_id=None)
        await daemon.store.append(other, [a_fact()], mark=(session, b"{}"))
        actor = daemon.runs.live[0]
        actor.state = replace(actor.state, session_id="elsewhere", sessions=(session, "elsewhere"))
        await daemon.store.append(
            a_run(actor.run_id, session_id="elsewhere"), [a_fact()], mark=("elsewhere", b"{}")
        )
        assert parts(await storage_of(daemon).prune()) == {}
        assert await daemon.store.mark(session) == b"{}"


async def test_transcripts_of_the_own_agent_are_kept_for_good_unless_a_setting_says_how_long(
    machine: Machine,
) -> None:
    old, new, held = (str(uuid.uuid4()) for _ in range(3))
    async with running(machine) as daemon:
        files = {one: transcript(machine, one, days) for one, days in ((old, 31), (new, 9))}
        files[held] = transcript(machine, held, 99)
        strange = aged(machine.state / "sessions" / "notes.jsonl", 99)
        assert parts(await storage_of(daemon).prune()) == {}
        with pytest.raises(Refused, match=r"no other copy.*retention\.transcripts_days"):
            await storage_of(daemon).prune(["transcripts"])

        holder = Holder(kind="prompt", since="", pid=os.getpid())
        lease = daemon.context.leases.try_session(held, holder)
        care = storage_of(daemon, transcripts_days=30)
        assert parts(await care.prune(dry_run=True)) == {"transcripts": (1, 5)}
        assert parts(await care.prune()) == {"transcripts": (1, 5)}
        assert [files[one].exists() for one in (old, new, held)] == [False, True, True]
        assert strange.exists(), "it is nobody's transcript"
        assert not isinstance(lease, Holder)
        lease.release()
        assert parts(await care.prune()) == {"transcripts": (1, 5)}


async def test_words_that_come_between_the_look_and_the_end_keep_a_transcript(
    machine: Machine,
) -> None:
    session = str(uuid.uuid4())
    async with running(machine) as daemon:
        path = transcript(machine, session, 31)
        care = storage_of(daemon, transcripts_days=30)
        found = await care._old_transcripts(named=False)
        aged(path, 0)
        assert await care._remove_transcripts(found) == 0
        assert path.exists()


async def test_sessions_that_are_gone_stay_on_the_list_until_they_are_named_or_too_old(
    machine: Machine,
) -> None:
    path = write(machine)
    async with ready(machine):
        pass
    path.unlink()
    async with ready(machine) as daemon:
        assert await listed(daemon) != []
        assert parts(await storage_of(daemon).prune()) == {}
        assert parts(await storage_of(daemon, gone_days=1).prune()) == {}, "it is of this May"
        at = daemon.context.clock.wall() + timedelta(days=365)
        later = replace(daemon.context, clock=replace(daemon.context.clock, wall=lambda: at))
        care = Storage(
            replace(later, retention=lambda: RetentionSettings(gone_days=1)),
            PublicSessions(daemon.transcripts, daemon.store, daemon.context.family),
            daemon.runs,
        )
        assert parts(await care.prune(dry_run=True)) == {"gone": (1, 0)}
        assert parts(await storage_of(daemon).prune(["gone"])) == {"gone": (1, 0)}
        assert await listed(daemon) == []
        assert await daemon.store.ledgers_gone() == []


async def test_copies_of_earlier_releases_go_after_their_days_or_by_name(machine: Machine) -> None:
    async with running(machine) as daemon:
        copy = aged(machine.state / "facts.db.schema-2", 0, b"old facts")
        assert parts(await storage_of(daemon, copies_days=0).prune()) == {}
        assert parts(await storage_of(daemon).prune()) == {}, "it is of today"
        assert parts(await storage_of(daemon).prune(["copies"], dry_run=True)) == {"copies": (1, 9)}
        assert copy.exists()
        assert parts(await storage_of(daemon).prune(["copies"])) == {"copies": (1, 9)}
        assert not copy.exists()
        assert (machine.state / "facts.db").exists()


async def test_spools_of_failed_runs_are_bounded_in_bytes_the_newest_are_kept(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        for age, name in enumerate(("new", "middle", "old")):
            place = machine.state / "turns" / name
            aged(place / "spool", age, bytes(600 * 1024))
            at = BEGIN.timestamp() - age
            os.utime(place, (at, at))
        care = storage_of(daemon, failed_megabytes=1)
        assert parts(await care.prune(dry_run=True)) == {"turns": (2, 2 * 600 * 1024)}
        await care.tidy()
        assert [path.name for path in (machine.state / "turns").iterdir()] == ["new"]


async def test_a_part_that_there_is_not_is_refused_with_those_that_there_are(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        with pytest.raises(InvalidParameter, match=r"no part 'worktrees'; there are runs, turns"):
            await storage_of(daemon).prune(["marks", "worktrees"])


async def test_what_was_forgotten_is_given_back_to_the_disk(machine: Machine) -> None:
    async with running(machine) as daemon:
        store = daemon.store
        for number in range(4):
            await store.append(a_run(f"run-{number}", status="ended"), [a_fact("x" * 400_000)])
        await store.append(a_run("last"), [a_fact()])
        await store.forget_runs([f"run-{number}" for number in range(4)])
        pages, size = await store.unused()
        assert pages * size > 1_500_000
        care = storage_of(daemon)
        assert (await care.usage()).unused == pages * size
        assert (await care.prune(vacuum=True, dry_run=True)).vacuumed == pages * size
        assert (await store.unused())[0] == pages
        assert (await care.prune(vacuum=True)).vacuumed == pages * size
        assert (await store.unused())[0] == 0
    assert (machine.state / "facts.db").stat().st_size < 200_000


async def test_what_cannot_be_tidied_is_said_and_the_daemon_goes_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:

        async def refused(*_: object) -> None:
            raise PermissionError(13, "Permission denied", "sessions")

        monkeypatch.setattr(daemon.store, "marks_after", refused)
        await storage_of(daemon).tidy()
        [line] = fields_of(daemon.logged, "Not tidied")
        assert "Permission denied" in line["reason"]


@pytest.mark.long("tests/tools/test_delete.py::test_the_depth_of_a_tree_is_no_matter")
async def test_a_spool_that_is_deeper_than_calls_can_be_is_counted_and_removed(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        place = machine.state / "turns" / "deep"
        bottom = place
        for _ in range(sys.getrecursionlimit() + 100):
            bottom.mkdir(parents=True)
            bottom /= "d"
        aged(bottom, 0, bytes(7))
        assert parts(await storage_of(daemon, failed_turns=0).prune()) == {"turns": (1, 7)}
        assert not place.exists()


async def test_each_part_of_the_state_is_told_with_what_bounds_it(machine: Machine) -> None:
    async with running(machine) as daemon:
        aged(machine.state / "facts.db.schema-2", 0, bytes(7))
        aged(machine.state / "worktrees" / "fix-1a2b" / "a.py", 0, bytes(11))
        aged(machine.state / "strange", 0, bytes(13))
        told = await storage_of(daemon).usage()
        assert told.state == str(machine.state)
        sizes = {one.part: one.bytes for one in told.parts}
        assert (sizes["copies"], sizes["worktrees"], sizes["other"]) == (7, 11, 13)
        facts = sum(path.stat().st_size for path in machine.state.glob("facts.db*")) - 7
        assert sizes["facts"] == facts
        assert all(one.bound for one in told.parts)


async def test_lock_files_go_a_month_after_they_were_taken_last_and_never_one_that_is_held(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        leases, holder = daemon.context.leases, Holder(kind="prompt", since="", pid=os.getpid())
        held = leases.try_session("held", holder)
        assert not isinstance(held, Holder)
        for name, days in (("held", 99), ("old", 31), ("new", 9)):
            path = machine.locks / f"session-{name}.lock"
            at = BEGIN.timestamp() - days * DAY
            path.touch()
            os.utime(path, (at, at))
        aged(machine.locks / "notes.txt", 99)
        care = storage_of(daemon)
        assert parts(await care.prune(dry_run=True)) == {"locks": (1, 4096)}
        assert parts(await care.prune()) == {"locks": (1, 4096)}
        left = {path.name for path in machine.locks.iterdir()}
        assert left == {"session-held.lock", "session-new.lock", "notes.txt"}
        assert isinstance(leases.try_session("held", holder), Holder), "it is held as before"
        assert not isinstance(leases.try_session("old", holder), Holder), "and this one is free"
        held.release()


async def test_who_opened_a_lock_file_before_it_was_removed_does_not_hold_another_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one is removed between the opening and the locking: the other is then taken."""
    path = tmp_path / "session-old.lock"
    lockfile.unlock(lockfile.try_lock(path) or 0)
    lock = lockfile._flock
    removed: list[bool] = []

    def meanwhile(fd: int, operation: int) -> bool:
        if not removed:
            removed.append(True)
            path.unlink()
        return lock(fd, operation)

    monkeypatch.setattr(lockfile, "_flock", meanwhile)
    mine = lockfile.try_lock(path)
    assert mine is not None
    assert os.fstat(mine).st_ino == path.stat().st_ino
    assert lockfile.try_lock(path) is None
    lockfile.unlock(mine)
