"""The JSON by which an agent says its outcome: where it stands in a reply, and the rest of that.

It is for Podium: a person is told the outcome on a line of its own.
"""

from __future__ import annotations

import json

MOST_TRIED = 20
"""Places where the outcome may stand, from the end."""

_AROUND = " \t*_`."
_FENCES = ("```", "~~~")


def is_report(words: str) -> bool:
    """Whether this is how an agent says how its turn came out, and nothing else."""
    words = words.strip()
    found = _read(words, 0)
    return found is not None and found[1] == len(words)


def parted(words: str) -> tuple[str, str]:
    """A block without the report that it ends with, and that; empty where there is none."""
    found = _last(words, None)
    if found is None or words[found[1] :].strip(f"{_AROUND}\n"):
        return words, ""
    before = _before(words, *found)
    return before.rstrip(), words[len(before) :].strip()


def without_outcome(words: str, outcome: str | None) -> str:
    """The words, less the last JSON object in them that says this outcome, where its lines, or that
    which it ends, hold nothing else behind it; a fence around it goes too."""
    found = None if outcome is None else _last(words, outcome)
    return words if found is None else _cut(words, *found)


def _last(words: str, outcome: str | None) -> tuple[int, int] | None:
    """Where the last object stands that says an outcome, this one if one is named."""
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
    """The outcome that the object says which begins there, and where that ends."""
    try:
        value, end = json.JSONDecoder().raw_decode(words, begin)
    except (ValueError, RecursionError):
        return None
    said = value.get("outcome") if isinstance(value, dict) else None
    return (said.strip().casefold().replace("_", "-"), end) if isinstance(said, str) else None


def _before(words: str, begin: int, after: int) -> str:
    """What stands before an object, without the marks that open where others close behind it."""
    before, closing = words[:begin], words[after : after + 1]
    return before.rstrip(closing) if closing and closing in "*_`" else before


def _cut(words: str, begin: int, after: int) -> str:
    """The words without what stands from one place to the other, where nothing follows on the
    line."""
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
