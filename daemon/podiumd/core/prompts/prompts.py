"""The text of every prompt that Podium sends.

A recipe's prompts end with exactly the outcome block; a plain prompt is the person's, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podiumd.core.recipe import template
from podiumd.core.recipe.context import as_text
from podiumd.core.recipe.model import Step
from podiumd.core.reply import outcome
from podiumd.core.run.state import RunState, Said

GO_ON = "Go on with this step where you stopped. If it is already finished, say how it went."
INTERRUPTED = (
    "You were interrupted: your process ended before this step was finished. Look at the working "
    "tree first (git status, git diff, the files you were about to change) and see what is "
    "already done. Do not do again what is done; finish what is not."
)
ORIGINAL = "This is what you were asked to do:"
STEERED = "While you were working, the person you work for wrote:"
PLAIN_GO_ON = "Go on where you stopped."

MOST_BYTES: Final = 512 * 1024
"""Bytes of waiting messages in one prompt; a message by itself may be longer."""


def fitting(messages: Sequence[Said]) -> tuple[Said, ...]:
    """Return the first messages that one prompt can carry; the rest waits for the next one."""
    size, found = 0, list[Said]()
    for message in messages:
        size += len(message.text.encode("utf-8", "replace"))
        if found and size > MOST_BYTES:
            break
        found.append(message)
    return tuple(found)


def step_body(state: RunState, step: Step) -> str:
    """Return the step's own text with its values filled in."""
    return fill(state, step.prompt or "").strip()


def fill(state: RunState, text: str) -> str:
    """Fill the run's values into a text of the recipe.

    Raises:
        MissingVariable: it uses a key of the context that has no value.
    """
    return template.render(text, _values(state))


def fill_known(state: RunState, text: str) -> str:
    """Fill the values that there are into a text of the recipe; the other variables stay."""
    return template.rewrite(text, _values(state).get)


def missing(state: RunState, texts: Iterable[str]) -> str | None:
    """Return the first variable of these texts that has no value."""
    values = _values(state)
    found = (name for text in texts for name, _ in template.variables(text) if name not in values)
    return next(found, None)


def _values(state: RunState) -> dict[str, str]:
    values = {name: _as_text(value) for name, value in state.start.params.items()}
    recipe = state.recipe
    assert recipe is not None
    values |= {f"last.{name}.detail": state.details.get(name, "") for name in recipe.detailed}
    return values | {f"ctx.{key}": as_text(value) for key, value in state.ctx.items()}


def fill_arguments(state: RunState, arguments: Sequence[str]) -> tuple[str, ...]:
    """Fill the run's values into an argument list: each argument stays one."""
    return tuple(fill(state, argument) for argument in arguments)


def compose(body: str, steers: Sequence[str], outcomes: Sequence[str]) -> str:
    """Compose a prompt from its parts: what to do, what the person added, how to report."""
    parts = [body]
    if steers:
        parts.append("\n\n".join([STEERED, *steers]))
    if outcomes:
        parts.append(outcome.outcome_block(outcomes))
    return "\n\n".join(parts)


def retry(fault: outcome.OutcomeError, outcomes: Sequence[str]) -> str:
    """Build the prompt after a reply without a usable outcome (without the block)."""
    return _without_block(outcome.retry_prompt(fault, outcomes), outcomes)


def interrupted(original: str, outcomes: Sequence[str]) -> str:
    """Build the prompt for a turn that was cut off; with ``original`` where its record lacks it."""
    told = _without_block(original, outcomes)
    if told.startswith(INTERRUPTED):
        return told
    return f"{INTERRUPTED}\n\n{ORIGINAL}\n\n{told}" if told else INTERRUPTED


def go_on(original: str, outcomes: Sequence[str]) -> str:
    """Build the prompt that continues a stopped turn; with ``original`` if its record lacks it."""
    told = GO_ON if outcomes else PLAIN_GO_ON
    return f"{told}\n\n{ORIGINAL}\n\n{_without_block(original, outcomes)}" if original else told


def _without_block(prompt: str, outcomes: Sequence[str]) -> str:
    if not outcomes:
        return prompt
    return prompt.removesuffix(outcome.outcome_block(outcomes)).rstrip()


def _as_text(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
