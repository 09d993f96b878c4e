"""The hooks that Podium has itself: checks whose word counts, and one that writes documents.

``podium:saved KEY...`` (all have been set), ``podium:exists PATH...``, ``podium:clean-tree`` and
``podium:write PATH...``: what the conversation has found out, in ``.json`` and ``.md`` files of
the working tree. All can be run again: after a crash they are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec
import trio

from podiumd.core.recipe.context import is_set
from podiumd.tools.agent.workspace import Changed, Refused, Workspace
from podiumd.tools.files.disk import is_full
from podiumd.tools.git import queries as git
from podiumd.tools.hooks import document
from podiumd.tools.hooks.hooks import REFUSES, HookResult

PREFIX: Final = "podium:"
_MOST_KEPT: Final = 1000
"""How many files of other people are kept beside a document of the same name."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the conversation. ``context`` has every declared key, in declared order;
    ``required`` are the keys without which no edge leads out of the phase."""

    phase: str
    context: Mapping[str, Any]
    required: tuple[str, ...]
    working_directory: str


async def run_builtin(argv: Sequence[str], moment: Moment) -> HookResult:
    """Run a built-in check; ``argv[0]`` begins with ``PREFIX``.

    An unknown one has failed, and decides nothing. Raises ``OSError`` where the disk is too full
    for what is to be written.
    """
    check = _CHECKS.get(argv[0])
    if check is None:
        known = ", ".join(_CHECKS)
        return HookResult(exit_status=None, reason=f"there is no '{argv[0]}'; there is: {known}")
    started = trio.current_time()
    why = await check(tuple(argv[1:]), moment)
    seconds = trio.current_time() - started
    return HookResult(exit_status=REFUSES if why else 0, reason=why, seconds=seconds)


async def _saved(keys: tuple[str, ...], moment: Moment) -> str:
    missing = [key for key in keys if not is_set(moment.context.get(key))]
    return f"not saved yet: {', '.join(missing)}" if missing else ""


async def _exists(paths: tuple[str, ...], moment: Moment) -> str:
    return await trio.to_thread.run_sync(_missing, paths, moment.working_directory)


def _missing(paths: tuple[str, ...], where: str) -> str:
    root = os.path.realpath(where)
    missing = []
    for path in paths:
        real = os.path.realpath(Path(root, path))
        if os.path.commonpath((root, real)) != root:
            return f"'{path}' leads out of the working directory"
        try:
            there = Path(real).exists()
        except OSError as error:
            return f"'{path}' cannot be looked at: {error.strerror}"
        if not there:
            missing.append(path)
    return f"not there yet: {', '.join(missing)}" if missing else ""


async def _clean_tree(_: tuple[str, ...], moment: Moment) -> str:
    try:
        changed = await git.dirty(moment.working_directory)
    except git.GitError as error:
        return str(error)
    shown = ", ".join(changed[:10]) + (" ..." if len(changed) > 10 else "")
    return f"the working tree has uncommitted changes: {shown}" if changed else ""


async def _write(paths: tuple[str, ...], moment: Moment) -> str:
    if not all(is_set(moment.context.get(key)) for key in moment.required):
        return ""  # there is nothing to show yet
    for path in paths:
        try:
            await trio.to_thread.run_sync(_write_one, path, moment)
        except (Refused, Changed) as error:
            if isinstance(error.__cause__, OSError) and is_full(error.__cause__):
                raise error.__cause__ from None  # the agent could do nothing about it
            return f"{path} could not be written: {error}"
    return ""


def _write_one(path: str, moment: Moment) -> None:
    """Write one document. Raises ``Refused``, ``Changed``."""
    plain = PurePosixPath(path)
    data, ours = _rendered(plain, moment)
    workspace = Workspace(moment.working_directory)
    if plain.is_absolute() or ".." in plain.parts or workspace.locate(path) != f"{plain}":
        raise Refused(f"'{path}' is no plain path below the working directory")
    # The leftover of a crash in an earlier attempt goes with this look.
    planned = hashlib.sha256(data).hexdigest()
    if workspace.look(path, before=None, planned=planned) == "planned":
        return
    found = workspace.find(path)
    if found is not None and not ours(found.data):
        _keep(workspace, plain, found.data)
    workspace.write(path, data, before=found.digest if found else None, digest=planned)


def _rendered(path: PurePosixPath, moment: Moment) -> tuple[bytes, Callable[[bytes], bool]]:
    """Render the document, and return a test for an earlier one of ours."""
    if path.suffix == ".json":
        ours = partial(document.is_json_of, context=moment.context)
        return document.as_json(moment.phase, moment.context), ours
    if path.suffix == ".md":
        text = document.as_markdown(path.stem, moment.phase, moment.context)
        return text, document.is_markdown
    raise Refused(f"'{path}' ends neither in .json nor in .md")


def _keep(workspace: Workspace, path: PurePosixPath, data: bytes) -> None:
    """Keep another party's file in the document's place beside it, once."""
    digest = hashlib.sha256(data).hexdigest()
    for number in range(1, _MOST_KEPT):
        more = "before" if number == 1 else f"before-{number}"
        beside = f"{path.with_name(f'{path.stem}.{more}{path.suffix}')}"
        there = workspace.look(beside, before=None, planned=digest)
        if there == "planned":
            return
        if there == "before":
            workspace.write(beside, data, before=None, digest=digest)
            return
    raise Refused(f"too many files of the name '{path.stem}.before{path.suffix}' are there")


_CHECKS: Final[dict[str, Callable[[tuple[str, ...], Moment], Awaitable[str]]]] = {
    f"{PREFIX}saved": _saved,
    f"{PREFIX}exists": _exists,
    f"{PREFIX}clean-tree": _clean_tree,
    f"{PREFIX}write": _write,
}
