"""The request to the model: its system text, what was looked up, the conversation so far."""

from __future__ import annotations

from typing import Final

import trio

from podiumd.agents.native.model.base import Model, ModelReply
from podiumd.agents.native.retrieval import opening_for
from podiumd.core.prompts.context_window import (
    Composed,
    FileNow,
    Gauge,
    Material,
    PastTurn,
    compose,
    least_tokens,
    prompt_tokens,
)
from podiumd.core.prompts.history import Seen, outdated
from podiumd.core.prompts.kept_texts import KeptTexts
from podiumd.core.run.native_loop_state import LoopState
from podiumd.core.sizes import size_of
from podiumd.tools.agent.edit import read_text
from podiumd.tools.agent.workspace import Refused, Workspace

_MOST_LOOKED_AT: Final = 64  # files, the latest
_MOST_SHOWN: Final = 5
_LARGEST_SHOWN: Final = 24 * 1024  # characters; of a larger one the model reads what it needs


class Asking:
    """Puts together the requests of one turn.

    Parameters: ``goal`` is the turn's prompt, ``past`` are the turns before it, ``system`` is the
    system text. ``blind``: the model may not read files in this turn, so it is shown none.
    ``agent`` is whose turn it is.
    """

    def __init__(
        self,
        workspace: Workspace,
        goal: str,
        past: tuple[PastTurn, ...],
        system: str,
        *,
        agent: str,
        blind: bool = False,
    ) -> None:
        self.system = system
        self._workspace = workspace
        self._goal = goal
        self._agent = agent
        self._past = past
        self._opening: str | None = "" if blind else None
        self._gauge = Gauge()
        self._texts = KeptTexts()

    async def compose(self, model: Model, loop: LoopState, window: int | None = None) -> Composed:
        """Compose the next request's messages; ``window`` (tokens) replaces the model's own.

        Files that the turn has read or written are looked at: results that show an older version of
        one are left out, and the latest such files are shown as they are now.
        """
        tokens = prompt_tokens(window or model.window, model.reply_tokens)
        room = self._gauge.size(tokens) - size_of(self.system)
        if self._opening is None:
            self._opening = await opening_for(self._workspace, self._goal, max(0, room // 4))
        known = self._texts.working_set(loop)
        digests, files = await trio.to_thread.run_sync(_look, self._workspace, known)
        material = Material(
            goal=self._goal,
            loop=loop,
            opening=self._opening,
            past=self._past,
            digests=digests,
            files=files,
        )
        return await trio.to_thread.run_sync(compose, material, room, self._texts)

    def too_large(self, model: Model, composed: Composed) -> str:
        """Return why a request cannot be sent, although nothing more of it can be left out.

        Empty where it can be sent, or where the model's window is uncertain.
        """
        size = composed.size + size_of(self.system)
        if composed.fits or not model.certain or least_tokens(size) <= model.window:
            return ""
        goal, least = len(self._goal), least_tokens(size)
        return (
            f"the prompt is too long for the model '{model.name}': with its {goal:,} characters the"
            f" request is {size:,} bytes, which are {least:,} tokens at the very least, and the"
            f" model takes in {model.window:,}, its reply included. Nothing was sent. Put"
            " what is long into a file and name that, shorten the prompt, or set model in"
            f" [agents.{self._agent}] to one that takes in more"
        )

    def learn(self, composed: Composed, reply: ModelReply) -> None:
        """Take to heart how many tokens the server has counted."""
        size = composed.size + size_of(self.system)
        self._gauge = self._gauge.learned(size, reply.usage.prompt)


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
