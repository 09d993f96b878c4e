"""Runs the filters that a repository names in its own settings, in the sandbox of the turn.

Git itself stays outside, with all the settings that are the person's. It is given a script in the
place of the filter's command, which runs that command inside.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from podiumd.tools.git.at_work import Reach
from podiumd.tools.process.processes import MARKER, sweep
from podiumd.tools.sandbox.boundary import LEFT
from podiumd.tools.sandbox.sandbox import Enclosure

# Variables that git sets for its children, and those that lead out: a filter that calls git gets
# neither.
_UNKNOWN = (
    *("GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"),
    *("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
)


class ConfinedFilters:
    """See ``podiumd.tools.git.settings.Confine``. The scripts are in ``directory``, which no
    command of the turn can write."""

    def __init__(self, enclosure: Enclosure, turn_id: str, directory: Path) -> None:
        self._enclosure = enclosure
        self._turn_id = turn_id
        self._directory = directory

    @property
    def variables(self) -> Mapping[str, str]:
        """Return the variables for the git that runs the filters, by which they are found."""
        return {MARKER: self._turn_id}

    @property
    def reach(self) -> Reach | None:
        """Return what the filters can write."""
        return self._enclosure.reach

    def confine(self, command: str) -> str:
        """Wrap a filter's command to run in the sandbox. Blocks for a small file. Raises
        ``OSError``.

        Git puts the path of the file, quoted, in the place of ``%f``: it is handed on as an
        argument and never read by a shell outside.
        """
        inner = command.replace("%%", "\0").replace("%f", '"$1"').replace("\0", "%")
        setting = self._enclosure.environment({})
        lines = ['cd "$2"', f"unset {' '.join(_UNKNOWN)}"]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in setting.items()]
        argv = self._enclosure.guarded(["/bin/sh", "-c", "\n".join([*lines, inner]), "sh"])
        text = f'#!/bin/sh\nexec {shlex.join(argv)} "$1" "$PWD"\n'
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        script = self._directory / f"filter-{hashlib.sha256(os.fsencode(text)).hexdigest()[:16]}"
        if not script.exists():
            draft = script.with_suffix(".draft")
            draft.write_text(text, encoding="utf-8", errors="surrogateescape")
            draft.chmod(0o700)
            draft.rename(script)
        return f"{shlex.quote(f'{script}'.replace('%', '%%'))} %f"

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Have the sandbox ready for the block, and put right after it what it may not leave.

        Raises ``OSError``, also where that cannot be put right.
        """
        await trio.to_thread.run_sync(self._enclosure.prepare)
        try:
            await self._enclosure.let_end()
            yield
        finally:
            with trio.CancelScope(shield=True):  # bounded: a sweep gives up after some seconds
                await sweep(self._turn_id)
                tidied = await trio.to_thread.run_sync(self._enclosure.tidy)
        if tidied.left:
            raise OSError(LEFT.format("; ".join(tidied.left)))
