"""An agent's reply without the JSON that was read as its outcome: that is told on its own."""

from __future__ import annotations

import json

MOST_TRIED = 20
"""Places where the outcome may stand, from the end."""

_AROUND = " \t*_`."
_FENCES = ("```", "~~~")


def without_outcome(words: str, outcome: str | None) -> str:
    """The words, less the last JSON object in them that says this outcome, where that stands on
    lines of its own, in a fence or not."""
    end = len(words)
    for _ in range(MOST_TRIED if outcome is not None else 0):
        named = words.rfind('"outcome"', 0, end)
        begin = words.rfind("{", 0, max(named, 0))
        if begin < 0:
            break
        after = _after(words, begin, outcome)
        if after is not None:
            return _cut(words, begin, after)
        end = named
    return words


def _after(words: str, begin: int, outcome: str | None) -> int | None:
    """Where the object ends that begins there; ``None`` where it does not say the outcome."""
    try:
        value, after = json.JSONDecoder().raw_decode(words, begin)
    except (ValueError, RecursionError):
        return None
    said = value.get("outcome") if isinstance(value, dict) else None
    if not isinstance(said, str) or outcome is None:
        return None
    same = said.strip().casefold().replace("_", "-") == outcome.casefold()
    return after if same else None


def _cut(words: str, begin: int, after: int) -> str:
    """The words without the lines from one place to the other, where nothing else is in them."""
    first = words.rfind("\n", 0, begin) + 1
    last = words.find("\n", after)
    last = len(words) if last < 0 else last
    if (words[first:begin] + words[after:last]).strip(_AROUND):
        return words
    before, rest = words[:first].rstrip(), words[last:].lstrip()
    opening, closing = before.rfind("\n") + 1, rest.partition("\n")[0]
    if before[opening:].lstrip().startswith(_FENCES) and closing.rstrip() in _FENCES:
        before, rest = before[:opening].rstrip(), rest[len(closing) :].lstrip()
    return "\n\n".join(part for part in (before, rest.rstrip()) if part)
