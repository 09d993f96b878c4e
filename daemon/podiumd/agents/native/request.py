"""The request to the model: its system text, what was looked up, the conversation so far."""

from __future__ import annotations

from podiumd.agents.native.context import next_request
from podiumd.agents.native.kind import NATIVE
from podiumd.agents.native.model.base import Model, ModelReply
from podiumd.agents.native.retrieval import opening_for
from podiumd.core.prompts.context_window import (
    Composed,
    Gauge,
    PastTurn,
    least_tokens,
    prompt_tokens,
)
from podiumd.core.prompts.kept_texts import KeptTexts
from podiumd.core.run.native_loop_state import LoopState
from podiumd.core.sizes import size_of
from podiumd.tools.agent.workspace import Workspace


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
        blind: bool = False,
        agent: str = NATIVE.name,
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
        """Compose the next request's messages; ``window`` (tokens) replaces the model's own."""
        tokens = prompt_tokens(window or model.window, model.reply_tokens)
        room = self._gauge.size(tokens) - size_of(self.system)
        if self._opening is None:
            self._opening = await opening_for(self._workspace, self._goal, max(0, room // 4))
        return await next_request(
            self._workspace,
            goal=self._goal,
            loop=loop,
            opening=self._opening,
            past=self._past,
            room=room,
            texts=self._texts,
        )

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
