"""The agent's streamed words, and which of them were never streamed here."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class Words:
    """The streamed text, turn by turn."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        self._message: str | None = None

    def add(self, data: Json) -> str:
        """Take a delta and return what to write: a new message begins a new paragraph."""
        delta = str(data.get("delta", ""))
        turn, message = str(data.get("turn_id")), str(data.get("uuid"))
        apart = "\n\n" if self._shown.get(turn) and message != self._message else ""
        self._message = message
        self._shown[turn] = self._shown.get(turn, "") + apart + delta
        return apart + delta

    def missing(self, data: Json) -> tuple[str, bool]:
        """What a ``turn.ended`` says that was not streamed here, and whether it was said before
        something that was."""
        final = str(data.get("text") or "")
        shown = self._shown.pop(str(data.get("turn_id")), "")
        words = unsaid(final, shown)
        return words, bool(words and shown) and not final.endswith(words)


def unsaid(final: str, shown: str) -> str:
    """The part of ``final`` that ``shown`` lacks, white space aside.

    Who came in the middle of a turn has its end, who lost the connection for a while its
    beginning and perhaps its end. Where ``shown`` fits into ``final`` in no such way, all of it
    is returned.
    """
    said, whole = "".join(shown.split()), "".join(final.split())
    if whole in said:
        return ""
    begun = _common(whole, said)
    ended = _common(whole[begun:][::-1], said[begun:][::-1])
    if not said or begun + ended < len(said):
        return final
    letters = [at for at, letter in enumerate(final) if not letter.isspace()]
    first = letters[begun - 1] + 1 if begun else 0
    return final[first : letters[-ended] if ended else len(final)]


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
