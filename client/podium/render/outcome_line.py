"""JSON with which an agent reports its outcome: where it stands in a reply, and the rest of that.

It is for Podium: a person sees the outcome on a line of its own.
"""

from __future__ import annotations

import json

MOST_TRIED = 20
"""Places where the outcome may stand, from the end."""

_AROUND = " \t*_`."
_FENCES = ("```", "~~~")


def is_report(words: str) -> bool:
    """Return whether the words are an agent's report of its outcome, and nothing else."""
    words = words.strip()
    found = _read(words, 0)
    return found is not None and found[1] == len(words)


def parted(words: str) -> tuple[str, str]:
    """Split a block from the report that it ends with; the report is empty where there is none."""
    found = _last(words, None)
    if found is None or words[found[1] :].strip(f"{_AROUND}\n"):
        return words, ""
    before = _before(words, *found)
    return before.rstrip(), words[len(before) :].strip()


def without_outcome(words: str, outcome: str | None) -> str:
    """Remove the last JSON object that states this outcome; a fence around it goes too.

    It is removed only where its lines, or that which it ends, hold nothing else behind it.
    """
    found = None if outcome is None else _last(words, outcome)
    return words if found is None else _cut(words, *found)


def _last(words: str, outcome: str | None) -> tuple[int, int] | None:
    """Find the last object that states an outcome, this one if one is named."""
    end = len(words)
    for _ in range(MOST_TRIED):
        named = words.rfind('"outcome"', 0, end)
        begin = named
        for _ in range(MOST_TRIED):
            begin = words.rfind("{", 0, max(begin, 0))
            if begin < 0:
                break
            found = _read(words, begin)
            if found is not None and found[1] > named and outcome in (None, found[0]):
                return begin, found[1]
        if named < 0:
            break
        end = named
    return None


def _read(words: str, begin: int) -> tuple[str, int] | None:
    """Read the outcome of the object that begins there; return it and where the object ends."""
    try:
        value, end = json.JSONDecoder().raw_decode(words, begin)
    except (ValueError, RecursionError):
        return None
    said = value.get("outcome") if isinstance(value, dict) else None
    return (said.strip().casefold().replace("_", "-"), end) if isinstance(said, str) else None


def _before(words: str, begin: int, after: int) -> str:
    """Return the words before an object, without marks that open where others close behind it."""
    before, closing = words[:begin], words[after : after + 1]
    return before.rstrip(closing) if closing and closing in "*_`" else before


def _cut(words: str, begin: int, after: int) -> str:
    """Remove the words from one place to the other, where nothing follows on the line."""
    first = words.rfind("\n", 0, begin) + 1
    last = words.find("\n", after)
    last = len(words) if last < 0 else last
    if words[after:last].strip(_AROUND):
        return words
    if words[first:begin].strip(_AROUND):
        return f"{_before(words, begin, after).rstrip()}{words[last:]}".rstrip()
    before, rest = words[:first].rstrip(), words[last:].lstrip()
    opening, closing = before.rfind("\n") + 1, rest.partition("\n")[0]
    if before[opening:].lstrip().startswith(_FENCES) and closing.rstrip() in _FENCES:
        before, rest = before[:opening].rstrip(), rest[len(closing) :].lstrip()
    return "\n\n".join(part for part in (before, rest.rstrip()) if part)
