"""A tree of made-up Claude Code sessions with a seed and a manifest of what is in it.

    python benchmarks/session_tree.py [--seed N] [--files N] [--mb N] [--check]

The same seed gives the same bytes and times. Sizes are log-normal and come to ``--mb`` megabytes
of 10**6 bytes; there are about 25 sessions a project, one in twelve with sub-agents, one in twenty
with tool results in files of their own (all beside the megabytes asked for). One transcript in a
hundred ends in half a line and one in two hundred has a line that is no JSON. A tree is kept in
``.cache`` and used again; files that are no longer as the manifest says are written anew.

``--check`` reads every byte with the standard library alone, by its own reading of the rules, and
exits 1 where the tree and its manifest differ.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import CACHE, CannotMeasure
from benchmarks.session_records import Scribe, project_directory
from benchmarks.session_truth import PROMPT_CHARACTERS, read

FORM = 1
"""Another number makes all trees anew: raise it with every change of what is written."""

SESSIONS_A_PROJECT = 25
SIZE_SPREAD = 1.55
"""Sigma of the sizes' logarithms: a median of three tenths of the mean, a few of many megabytes."""

LARGEST, SMALLEST = 25_000_000, 1500
ROOMY = 250_000
"""From this size on a session may carry what a new agent writes before the first prompt."""

TORN, BROKEN, SUBAGENTS, TOOL_RESULTS = 0.01, 0.005, 0.08, 0.05


class Spec(NamedTuple):
    """Which tree. ``mb``: megabytes of 10**6 bytes of transcripts."""

    seed: int = 1
    files: int = 5000
    mb: int = 1000

    @property
    def name(self) -> str:
        """The directory's name."""
        return f"tree-{self.seed}-{self.files}-{self.mb}"


class Session(msgspec.Struct, frozen=True):
    """The truth about one transcript.

    ``prompt``: the beginning of the first one, white space folded. ``tip``: the uuid that a record
    which is added would name as its parent.
    """

    path: str
    session_id: str
    size: int
    mtime_ns: int
    messages: int
    lines: int
    bad_lines: int
    torn: bool
    cwd: str
    title: str
    prompt: str
    last_at: str
    tip: str


class Beside(msgspec.Struct, frozen=True):
    """A file that belongs to a session."""

    path: str
    session_id: str
    size: int
    mtime_ns: int


class Manifest(msgspec.Struct, frozen=True):
    """All of a tree. Paths are below the tree's directory."""

    form: int
    spec: Spec
    sessions: list[Session]
    companions: list[Beside]


class Tree(NamedTuple):
    """A tree on the disk; ``home`` serves as CLAUDE_CONFIG_DIR."""

    home: Path
    manifest: Manifest

    @property
    def projects(self) -> Path:
        """Where the agent keeps its sessions."""
        return self.home / "projects"

    @property
    def bytes(self) -> int:
        """The size of all transcripts."""
        return sum(session.size for session in self.manifest.sessions)


def make(spec: Spec, home: Path) -> Tree:
    """Return the tree in ``home``, made or mended where it is not there as it should be."""
    kept = _kept(home / "manifest.json", spec)
    if kept is not None and all(_as_it_was(home, one) for one in _files(kept)):
        return Tree(home, kept)
    home.mkdir(parents=True, exist_ok=True)
    sessions: list[Session] = []
    companions: list[Beside] = []
    for number, size in enumerate(_sizes(spec)):
        session, beside = write_session(spec, home, number, size)
        sessions.append(session)
        companions += beside
    manifest = Manifest(FORM, spec, sessions, companions)
    (home / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return Tree(home, manifest)


def cached(spec: Spec) -> Tree:
    """Return the tree in ``.cache``. Raises ``CannotMeasure`` where others are in its place."""
    home = CACHE / spec.name
    tree = make(spec, home)
    found = sum(1 for path in tree.projects.rglob("*") if path.is_file())
    known = len(tree.manifest.sessions) + len(tree.manifest.companions)
    if found != known:
        raise CannotMeasure(f"{home} holds {found} files where {known} are known: remove it")
    return tree


def write(path: Path, data: Iterable[bytes], mtime_ns: int) -> int:
    """Write a file and give it its time; returns its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(data)
        size = file.tell()
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return size


def _files(manifest: Manifest) -> Iterator[Session | Beside]:
    yield from manifest.sessions
    yield from manifest.companions


def _kept(path: Path, spec: Spec) -> Manifest | None:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if (found.form, found.spec) == (FORM, spec) else None


def _as_it_was(home: Path, one: Session | Beside) -> bool:
    try:
        status = (home / one.path).stat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (one.size, one.mtime_ns)


def _sizes(spec: Spec) -> list[int]:
    """Sizes to aim at; what is cut from the largest and given to the smallest is made up for."""
    rnd = random.Random(f"sizes/{spec.seed}")
    weights = [math.exp(rnd.gauss(0.0, SIZE_SPREAD)) for _ in range(spec.files)]
    wanted = spec.mb * 10**6
    scale = wanted / sum(weights)
    sizes: list[int] = []
    for _ in range(8):
        sizes = [min(LARGEST, max(SMALLEST, int(weight * scale))) for weight in weights]
        scale *= wanted / sum(sizes)
    return sizes


def write_session(spec: Spec, home: Path, number: int, size: int) -> tuple[Session, list[Beside]]:
    project = number % max(1, spec.files // SESSIONS_A_PROJECT)
    cwd = f"/home/dev/src/project-{project:03d}.{'ab'[project % 2]}"
    scribe = Scribe(spec.seed, f"session/{number}", cwd, day=number * 180 / spec.files)
    torn, broken = scribe.random.random() < TORN, scribe.random.random() < BROKEN
    fill(scribe, size, broken)
    relative = f"projects/{project_directory(cwd)}/{scribe.session_id}.jsonl"
    mtime_ns = int(scribe.now.timestamp() * 1000) * 1_000_000 + number
    data = [*scribe.lines, *([scribe.torn_tail()] if torn else [])]
    session = Session(
        path=relative,
        session_id=scribe.session_id,
        size=write(home / relative, data, mtime_ns),
        mtime_ns=mtime_ns,
        messages=scribe.messages,
        lines=len(scribe.lines),
        bad_lines=scribe.bad_lines,
        torn=torn,
        cwd=cwd,
        title=scribe.title,
        prompt=scribe.prompt[:PROMPT_CHARACTERS],
        last_at=scribe.last_at,
        tip=scribe.tip or "",
    )
    own = relative.removesuffix(".jsonl")
    beside = [
        Beside(path, scribe.session_id, write(home / path, data, mtime_ns), mtime_ns)
        for path, data in _companions(spec, scribe, own, number)
    ]
    return session, beside


def going_on(tree: Tree, session: Session) -> Scribe:
    """Return who writes on in a session of the tree; what was written before is not in it."""
    scribe = Scribe(tree.manifest.spec.seed, f"on/{session.path}", session.cwd, day=181.0)
    scribe.session_id, scribe.tip = session.session_id, session.tip
    return scribe


def fill(scribe: Scribe, size: int, broken: bool = False) -> None:
    """Write a session of about ``size`` bytes, if asked with a line that is no JSON in it."""
    scribe.goal = size
    scribe.head(roomy=size >= ROOMY and scribe.random.random() < 0.5)
    for _ in scribe.turns():
        if broken and scribe.size >= size // 2:
            scribe.break_a_line()
            broken = False
        if scribe.size >= size - 1000:
            break
    scribe.foot()


def _companions(
    spec: Spec, scribe: Scribe, own: str, number: int
) -> Iterator[tuple[str, list[bytes]]]:
    rnd = scribe.random
    for agent in range(rnd.randint(1, 3) if rnd.random() < SUBAGENTS else 0):
        name = f"{number:08x}{agent:x}"
        sub = Scribe(spec.seed, f"subagent/{name}", scribe.cwd, day=0.0)
        sub.session_id, sub.now = scribe.session_id, scribe.now
        for _ in range(rnd.randint(1, 12)):
            sub.sidechain(name)
        about = {"agentType": "general-purpose", "description": scribe.words(30)}
        yield f"{own}/subagents/agent-{name}.jsonl", sub.lines
        yield f"{own}/subagents/agent-{name}.meta.json", [json.dumps(about).encode()]
    for result in range(rnd.randint(1, 2) if rnd.random() < TOOL_RESULTS else 0):
        text = scribe.words(rnd.randint(30_000, 90_000))
        yield f"{own}/tool-results/b{number:07x}{result:x}.txt", [text.encode()]


# -- the check --------------------------------------------------------------------------------


def differences(tree: Tree) -> list[str]:
    """Read all transcripts with nothing of ours and say where the manifest is wrong."""
    return [
        f"{session.path}: {key} is {found[key]!r}, the manifest says {told!r}"
        for session in tree.manifest.sessions
        for found in [read(tree.home / session.path)]
        for key, told in msgspec.structs.asdict(session).items()
        if key != "path" and found[key] != told
    ]


def main() -> int:
    """Make the tree, and check it if asked to; returns the exit status."""
    usual = Spec()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--files", type=int, default=usual.files)
    parser.add_argument("--mb", type=int, default=usual.mb)
    parser.add_argument("--check", action="store_true", help="compare the tree with its manifest")
    options = parser.parse_args()
    tree = cached(Spec(options.seed, options.files, options.mb))
    sessions = tree.manifest.sessions
    print(
        f"{tree.home}: {len(sessions)} sessions, {tree.bytes / 1e6:.1f} MB, "
        f"{sum(one.lines for one in sessions)} lines, {sum(one.messages for one in sessions)} "
        f"messages, {len(tree.manifest.companions)} companions"
    )
    wrong = differences(tree) if options.check else []
    print("\n".join(wrong[:20]), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
