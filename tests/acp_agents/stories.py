"""What the model says to the real agents, and the recipe that they play."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.stories import ASKING, Turn

ONCE: Final = "echo ran >> made"

SIDE: Final = {"side": {"text": "A title"}}
"""What is answered where an agent wants a title, or which model to take."""


def when(prompt: str, *turns: Turn) -> dict[str, Any]:
    """A rule: these turns, one a request, for prompts in which this stands: agents write more."""
    return {"when": {"prompt": prompt}, "turns": list(turns)}


def step(prompt: str = "Work on it.", *, reads: bool = False) -> str:
    """A recipe of one step in which commands are asked about; changes of files are not.

    ``reads``: in it nothing but reading is possible.
    """
    leave = 'tools = "read-only"' if reads else 'allow = ["Edit"]'
    return ASKING.replace('"Work on it."', f'"{prompt}"\n{leave}')
