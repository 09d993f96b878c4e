"""STATE as a year makes it: real runs, stored again and again under new ids and dates.

A few runs are played by a real daemon with the scripted agent; their facts go through the store's
own ``append`` as often as wanted. What is made is kept in ``.cache`` and used again.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import trio

from benchmarks.measure import CACHE
from podiumd.store.facts import Store, open_store
from podiumd.store.records import NewFact, RunRow, StoredFact
from podiumd.store.schema import MIGRATIONS
from tests.real_daemon import RealDaemon, real_daemon

DAYS = 200
"""Over which the runs are spread, up to now."""

AT_ONCE = 64
_UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

NOTE = """
format = 1
id = "note"
label = "A note"
description = "Write a note and commit it"
initial = "write"

[steps.write]
prompt = "Write a note. Do not commit."
allow = ["Write"]

[steps.write.on]
complete = { to = "commit" }

[steps.commit]
gate = "Commit the note?"
commits = true
prompt = "Commit the note."
allow = ["Bash"]

[steps.commit.on]
committed = { exit = "changes-committed" }
"""
SCRIPT = """
[[turns]]
when = "Write a note"
text = "Written."
write = [{ path = "note.md", content = "A note." }]
outcome = { outcome = "complete" }

[[turns]]
when = "Commit the note"
text = 'Committed. {"outcome": "committed"}'
run = [["git", "add", "note.md"], ["git", "commit", "--quiet", "--message", "A note"]]

[[turns]]
text = "Hello."
"""


class Played(NamedTuple):
    """A run that a daemon has played to its end: its row, and its facts."""

    row: RunRow
    facts: list[StoredFact]


def make_repository(path: Path) -> Path:
    path.mkdir()
    who = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "--quiet"], [*who, "commit", "--quiet", "--allow-empty", "-m", "First"]):
        subprocess.run(["git", *words], cwd=path, check=True)
    for name, value in (("name", "Bench"), ("email", "bench@example.org")):
        subprocess.run(["git", "config", f"user.{name}", value], cwd=path, check=True)
    return path


def _play(daemon: RealDaemon, recipe: str, directory: Path) -> None:
    """Play a recipe to its end, with yes to whatever it asks."""
    run = daemon.result(
        "runs.start", recipe=recipe, agent="scripted", working_directory=str(directory)
    )
    first = daemon.result("runs.events", run_id=run["run_id"], follow=True)["events"]
    told = (json.loads(line)["params"] for line in daemon.answers if b'"run.event"' in line)
    for event in chain(first, told):
        if event["type"] == "question.opened":
            question_id = event["data"]["question_id"]
            daemon.rpc.sendall(_request("questions.answer", question_id=question_id, answer="yes"))
        if event["type"] == "run.ended":
            return


def _request(method: str, **params: str) -> bytes:
    request = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
    return json.dumps(request).encode() + b"\n"


def play() -> list[Played]:
    """Play three runs of recipes, one with a question, and a prompt."""
    with tempfile.TemporaryDirectory(prefix="podium-growth-") as directory:
        root = Path(directory)
        home = root / "home"
        (home / "recipes").mkdir(parents=True)
        (home / "recipes" / "note.toml").write_text(NOTE)
        (home / "script.toml").write_text(SCRIPT)
        with real_daemon(home) as daemon:
            for number in range(2):
                repository = make_repository(root / f"shop-{number}")
                _play(daemon, "implement-and-review", repository)
        config = f'agents.scripted.script = "{home / "script.toml"}"\n'
        with real_daemon(home, config=config) as daemon:
            repository = make_repository(root / "notes")
            daemon.result(
                "sessions.prompt",
                text="Say hello.",
                agent="scripted",
                working_directory=str(repository),
                wait=True,
            )
            _play(daemon, "note", repository)
        return trio.run(_read, home / "state")


async def _read(state: Path) -> list[Played]:
    async with open_store(state) as store:
        return [Played(row, await store.events(row.run_id)) for row in await store.runs()]


async def multiply(store: Store, played: list[Played], count: int) -> None:
    """Store the runs again and again, each time as others, until there are ``count``."""
    now = datetime.now(UTC)
    limiter = trio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        at = now - timedelta(days=DAYS) * ((count - number) / count)
        row, facts = _renewed(played[number % len(played)], number, at)
        async with limiter:
            await store.append(row, facts)

    for first in range(0, count, AT_ONCE * 4):
        async with trio.open_nursery() as nursery:
            for number in range(first, min(count, first + AT_ONCE * 4)):
                nursery.start_soon(one, number)


def _renewed(played: Played, number: int, at: datetime) -> tuple[RunRow, list[NewFact]]:
    """The run under other ids, at another time."""
    when = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
    seen: dict[bytes, bytes] = {}

    def other(match: re.Match[bytes]) -> bytes:
        old = match.group()
        if old not in seen:
            seen[old] = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}/{old.decode()}")).encode()
        return seen[old]

    def data(text: bytes) -> bytes:
        return _TIME.sub(when.encode(), _UUID.sub(other, text))

    def name(text: str | None) -> str | None:
        return None if text is None else data(text.encode()).decode()

    row = played.row
    renewed = RunRow(
        run_id=name(row.run_id) or "",
        kind=row.kind,
        status=row.status,
        session_id=name(row.session_id),
        working_directory=row.working_directory,
        started_at=when,
        ended_at=when,
        summary=data(row.summary),
    )
    return renewed, [
        NewFact(one.type, one.version, when, name(one.session_id), data(bytes(one.data)))
        for one in played.facts
    ]


def made(count: int, played: list[Played]) -> Path:
    """STATE with so many runs, from ``.cache`` where it was made before."""
    place = CACHE / f"growth-schema-{len(MIGRATIONS)}-{count}"
    if not place.exists():
        draft = place.with_name(place.name + ".new")
        shutil.rmtree(draft, ignore_errors=True)

        async def make() -> None:
            async with open_store(draft) as store:
                await multiply(store, played, count)

        draft.parent.mkdir(parents=True, exist_ok=True)
        trio.run(make)
        draft.rename(place)
    return place


@contextmanager
def home_of(state: Path) -> Iterator[Path]:
    """A daemon's home with a copy of this STATE."""
    with tempfile.TemporaryDirectory(prefix="podium-growth-", dir=CACHE) as directory:
        home = Path(directory)
        shutil.copytree(state, home / "state")
        yield home
