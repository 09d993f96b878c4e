"""Puts the next request together: looks how the files of the working set are now, then composes."""

from __future__ import annotations

from typing import Final

import trio

from podiumd.core.prompts.context_window import Composed, FileNow, Material, PastTurn, compose
from podiumd.core.prompts.history import Seen, outdated
from podiumd.core.prompts.kept_texts import KeptTexts
from podiumd.core.run.native_loop_state import LoopState
from podiumd.tools.agent.edit import read_text
from podiumd.tools.agent.workspace import Refused, Workspace

_MOST_LOOKED_AT: Final = 64  # files, the latest
_MOST_SHOWN: Final = 5
_LARGEST_SHOWN: Final = 24 * 1024  # characters; of a larger one the model reads what it needs


async def next_request(
    workspace: Workspace,
    *,
    goal: str,
    loop: LoopState,
    opening: str = "",
    past: tuple[PastTurn, ...] = (),
    room: int,
    texts: KeptTexts,
) -> Composed:
    """Compose the messages of the next request, in at most ``room`` bytes if that can be.

    Files that the turn has read or written are looked at: results that show an older version of one
    are left out, and the latest such files are shown as they are now. ``texts`` are those of the
    turn's earlier requests.
    """
    digests, files = await trio.to_thread.run_sync(_look, workspace, texts.working_set(loop))
    material = Material(
        goal=goal, loop=loop, opening=opening, past=past, digests=digests, files=files
    )
    return await trio.to_thread.run_sync(compose, material, room, texts)


def _look(
    workspace: Workspace, known: dict[str, Seen]
) -> tuple[dict[str, str | None], tuple[FileNow, ...]]:
    digests: dict[str, str | None] = {}
    for path in list(known)[-_MOST_LOOKED_AT:]:
        try:
            digests[path] = workspace.digest(path)
        except Refused:
            digests[path] = None  # a link out, or a device, stands there by now
    shown = [_now(workspace, path) for path in outdated(known, digests)[:_MOST_SHOWN]]
    return digests, tuple(reversed(shown))


def _now(workspace: Workspace, path: str) -> FileNow:
    try:
        text = read_text(workspace, path)
    except Refused as error:
        text = f"[{path} cannot be shown: {error}]"
    if len(text) > _LARGEST_SHOWN:
        head = text.partition("\n")[0]
        text = f"{head}\n[it is too long to be shown again: read the lines that you need]"
    return FileNow(path, text)
