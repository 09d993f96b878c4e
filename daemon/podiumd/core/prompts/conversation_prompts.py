"""The prompts of a conversation: a person's words as they are, and what Podium adds to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podiumd.core.prompts import prompts
from podiumd.core.recipe.context import as_text
from podiumd.core.recipe.model import Step
from podiumd.core.run import facts as f
from podiumd.core.run.fold import NOW
from podiumd.core.run.state import RunState

BEGIN: Final = "Begin with this phase of the conversation. You have the first word."
NO_TRANSITION: Final = (
    "This phase goes on by itself, and you have ended your turn without going on to another one. "
    "Go on with it. When it is finished, call the tool 'transition'."
)
TAKEN_OVER: Final = (
    "This conversation is new to you: the record of what was said before is gone. It is in its "
    "phase '{phase}'. This is what is known of it."
)
VALUE_CHARACTERS: Final = 2000


def refused(reason: str) -> str:
    """Build the prompt for an agent whose turn may not end like this."""
    return (
        f"Your turn may not end like this: {reason}\n\nPut that right. A question or another phase "
        "that you asked for in it has been dropped: ask for it again when you are done."
    )


def prompt(state: RunState, move: f.Move, step: Step, words: Sequence[str], *, gone: bool) -> str:
    """Build the prompt of a phase's next turn.

    ``words`` are the people's messages that it carries; ``gone``: the agent knows nothing of the
    conversation before.

    Raises:
        MissingVariable: the opening uses a key of the context that has no value.
    """
    original = move.original or (state.prompt if gone else "")
    if move.purpose == "opening":
        body = prompts.fill(state, step.opening or BEGIN).strip()
    elif move.purpose == "say":
        body, words = "\n\n".join(words), ()
    elif move.purpose == "retry":
        body = move.original
    elif move.purpose == "again":
        body = state.prompt
    elif move.purpose == "go-on" and words:
        # A person who speaks after an interruption states what comes next.
        body, words = "\n\n".join([*([original] if original else []), *words]), ()
    elif move.purpose == "go-on":
        body = prompts.go_on(original, ())
    else:
        body = prompts.interrupted(original, ())
    whole = prompts.compose(body, words, ())
    return f"{summary(state)}\n\n{NOW}\n\n{whole}" if gone else whole


def system(state: RunState, step: Step) -> str | None:
    """Fill in the system text of a phase as it is now.

    Raises:
        MissingVariable: it uses a key of the context that has no value.
    """
    return prompts.fill(state, step.system).strip() if step.system is not None else None


def summary(state: RunState) -> str:
    """Summarise a conversation for an agent that takes it over and has not seen it."""
    parts = [TAKEN_OVER.format(phase=state.step)]
    if state.ctx:
        saved = [f"- {key}: {_short(as_text(value))}" for key, value in state.ctx.items()]
        parts.append("\n".join(["Saved so far:", *saved]))
    for exchange in state.exchanges:
        said = [f"The person said: {exchange.said}"] if exchange.said else []
        parts.append("\n".join([*said, f"The agent said: {exchange.answered}"]))
    return "\n\n".join(parts)


def _short(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS else f"{text[:VALUE_CHARACTERS]}…"
