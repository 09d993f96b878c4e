"""Searches the text files of a working tree for a literal text or a regular expression.

Ripgrep finds the lines where it is installed, else a process of our own (``search_worker``); both
are ended at a time limit, for an expression can take for ever. Neither is trusted with what is
shown: each file found is opened again through the workspace, so that no link leads out and nothing
closed is read.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import trio

import podiumd
from podiumd.core.excerpt import beginning
from podiumd.core.reply.patch import BOM
from podiumd.tools.agent.workspace import Refused, Workspace
from podiumd.tools.diff import LinesOfLong, visible
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError
from podiumd.tools.process.environment import plain_environment

MOST_HITS = 200
LONGEST_LINE = 300
LIMIT_SECONDS = 20.0
_LONGEST_ENTRY = 1024 * 1024

# Our package is found without ``site``; nothing is imported from the tree that is searched.
_WORKER = (sys.executable, "-S", "-P", "-m", "podiumd.tools.agent.search_worker")
_WORKER_ENVIRONMENT = {
    "PYTHONPATH": f"{Path(podiumd.__path__[0]).parent}",
    "PYTHONUTF8": "1",
}


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """``lines`` are ``path:line: text``, at most 200 of them; ``more`` says that there may be
    others, ``timed_out`` that the search was ended before it was through."""

    lines: tuple[str, ...]
    more: bool = False
    timed_out: bool = False

    @property
    def text(self) -> str:
        """Render the lines for a model, with notes on what is missing from them."""
        notes = []
        if self.timed_out:
            notes.append("[the search was ended at its time limit; ask for something narrower]")
        if self.more:
            notes.append(f"[more than {MOST_HITS} lines match; the others are not shown]")
        return "".join(f"{line}\n" for line in (*self.lines, *notes))


async def search(
    workspace: Workspace,
    query: str,
    *,
    pattern: str | None = None,
    regex: bool = False,
    environ: Mapping[str, str],
    limit_seconds: float = LIMIT_SECONDS,
    ripgrep: str | None = None,
) -> SearchResult:
    """Search below the workspace's root. Hidden files are searched, ignored and binary ones not.

    Parameters: ``pattern`` is a glob, on the name or, with a ``/``, on the path from the root;
    ``regex`` takes the query as an expression; ``environ`` gives PATH, ``ripgrep`` names the
    program to use, empty for our own.
    Raises ``Refused`` for a query or pattern that cannot be understood.
    """
    if "\n" in query or "\0" in query or not query:
        raise Refused("the query has to be one line of text that is not empty")
    program = shutil.which("rg", path=environ.get("PATH")) if ripgrep is None else ripgrep
    if program:
        argv, listing = _ripgrep(program, query, pattern, regex, workspace), b""
    else:
        if regex:
            _check_expression(query)
        argv, listing = _own(query, pattern, regex), await _listed(workspace.root)
    finding = _Finding(workspace)
    with trio.move_on_after(limit_seconds) as limit:
        await finding.run(argv, listing, plain_environment(environ) | _WORKER_ENVIRONMENT)
    hits = await trio.to_thread.run_sync(finding.shown)
    return SearchResult(
        lines=tuple(hits), more=finding.full, timed_out=limit.cancelled_caught and not finding.full
    )


def _ripgrep(
    program: str, query: str, pattern: str | None, regex: bool, workspace: Workspace
) -> list[str]:
    shut = [path.relative_to(workspace.root) for path in workspace.closed
            if path.is_relative_to(workspace.root)]  # fmt: skip
    globs = ["--glob", pattern] if pattern else []
    for path in shut:
        globs += ["--glob", f"!/{_escaped(path)}"]
    return [
        program, "--no-config", "--no-messages", "--color=never", "--no-heading", "--line-number",
        "--null", "--with-filename", "--hidden", "--no-follow", "--sort=path",
        f"--max-count={MOST_HITS + 1}", "--max-columns=1", "--max-filesize=16M",
        *([] if regex else ["--fixed-strings"]),
        *globs, "--iglob", "!.git", "--regexp", query, "--", "./",
    ]  # fmt: skip


def _escaped(path: Path) -> str:
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path.as_posix())


def _own(query: str, pattern: str | None, regex: bool) -> list[str]:
    kind = "regex" if regex else "literal"
    return [*_WORKER, kind, query, pattern or ""]


def _check_expression(query: str) -> None:
    try:
        re.compile(query)
    except (re.error, RecursionError, OverflowError) as error:
        raise Refused(f"the query is no valid regular expression: {error}") from None


async def _listed(root: Path) -> bytes:
    """List the files that git does not ignore, each ended by NUL.

    The list is empty outside git: all files are walked then.
    """
    try:
        return await GitCall(f"{root}").out(
            "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"
        )
    except GitError:
        return b""


class _Finding:
    """Collects which lines match, and ends the search when there are enough."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._hits: dict[str, list[int]] = {}
        self._count = 0
        self.full = False
        self._said = b""

    async def run(self, argv: Sequence[str], listing: bytes, environ: Mapping[str, str]) -> None:
        """Run the searcher and collect its hits.

        Raises ``Refused`` where the searcher does not understand the request.
        """
        async with trio.open_nursery() as nursery:
            searcher = partial(
                trio.run_process,
                argv,
                stdin=listing,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                check=False,
                cwd=f"{self._workspace.root}",
                env=environ,
                start_new_session=True,
                deliver_cancel=_killed,
            )
            process: trio.Process = await nursery.start(searcher)
            assert process.stdout is not None and process.stderr is not None
            rest = b""
            async for piece in process.stdout:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._take(line)
                if self.full or len(rest) > _LONGEST_ENTRY:
                    break
            if self.full:
                nursery.cancel_scope.cancel()
            else:
                self._said = bytes(await process.stderr.receive_some(4096))
        if self._said and not self._count:
            words = self._said.decode("utf-8", "replace").strip()
            raise Refused(f"the search is not understood: {beginning(words, 500)}")

    def _take(self, line: bytes) -> None:
        """Take one line of output, ``path NUL line:text``; one without a number is none."""
        path, _, text = line.partition(b"\0")
        number = text.partition(b":")[0]
        if number.isdigit():
            self.full = self._count == MOST_HITS
            if not self.full:
                name = path.decode("utf-8", "surrogateescape").removeprefix("./")
                self._hits.setdefault(name, []).append(int(number))
                self._count += 1

    def shown(self) -> list[str]:
        """List the lines that match, as they are in the workspace now. Blocks."""
        lines: list[str] = []
        for path, numbers in self._hits.items():
            try:
                content = LinesOfLong(self._workspace.read(path).data.removeprefix(BOM))
            except Refused:
                continue  # closed, gone, or a link out by now
            for number in numbers:
                for line in content[number - 1 : number]:
                    whole = line.removesuffix(b"\n").removesuffix(b"\r")
                    text = whole.decode("utf-8", "replace")
                    cut = "..." if len(text) > LONGEST_LINE else ""
                    lines.append(f"{visible(path)}:{number}: {visible(text[:LONGEST_LINE])}{cut}")
        return lines


async def _killed(process: trio.Process) -> None:
    await trio.lowlevel.checkpoint()
    process.kill()  # it holds nothing
