"""The agent's streamed words, and which of them were never streamed here."""

from __future__ import annotations

from typing import Any

from podium import text

Json = dict[str, Any]


class Words:
    """What was streamed, turn by turn.

    A daemon that starts again reads a turn that goes on from its beginning, and streams all of it
    again, in the same pieces: ``again`` announces that.
    """

    def __init__(self) -> None:
        self._told: dict[str, list[tuple[str, ...]]] = {}
        self._arrived: dict[str, str] = {}
        self._repeated: dict[str, int] = {}
        self._message: str | None = None

    def again(self) -> None:
        """What was streamed may come once more from here on."""
        self._repeated = dict.fromkeys(self._told, 0)

    def is_new(self, data: Json) -> bool:
        """Take a ``turn.output``; false for one that was told before."""
        turn = str(data.get("turn_id"))
        piece = tuple(str(data.get(name)) for name in ("kind", "uuid", "delta"))
        told = self._told.setdefault(turn, [])
        at = self._repeated.get(turn, len(told))
        new = told[at : at + 1] != [piece]
        if new:
            told.insert(at, piece)
        if turn in self._repeated:
            self._repeated[turn] += 1
        return new

    def add(self, data: Json) -> str:
        """Take a new delta of text and return what to write: a new message begins a paragraph."""
        delta = str(data.get("delta", ""))
        turn, message = str(data.get("turn_id")), str(data.get("uuid"))
        apart = "\n\n" if self._arrived.get(turn) and message != self._message else ""
        self._message = message
        self._arrived[turn] = self._arrived.get(turn, "") + apart + delta
        return apart + delta

    def missing(self, data: Json) -> tuple[str, bool]:
        """What a ``turn.ended`` says that was not streamed here, and whether it was said before
        something that was."""
        final, turn = str(data.get("text") or ""), str(data.get("turn_id"))
        arrived = self._arrived.pop(turn, "")
        pieces = self._told.pop(turn, [])
        # Who came in mid-turn and saw it begin again has the end before the beginning.
        in_order = "".join(delta for kind, _, delta in pieces if kind == "text")
        words = min(unsaid(final, arrived), unsaid(final, in_order), key=len)
        return words, bool(words and arrived) and not final.endswith(words)


def unsaid(final: str, shown: str) -> str:
    """The part of ``final`` that ``shown`` lacks, white space aside.

    Who came in the middle of a turn has its end, who lost the connection for a while its
    beginning and perhaps its end. Where ``shown`` fits into ``final`` in no such way, all of it
    is returned.
    """
    said, whole = "".join(shown.split()), "".join(final.split())
    if whole in said:
        return ""
    begun = text.common(whole, said)
    ended = text.common(whole[begun:][::-1], said[begun:][::-1])
    if not said or begun + ended < len(said):
        return final
    letters = [at for at, letter in enumerate(final) if not letter.isspace()]
    first = letters[begun - 1] + 1 if begun else 0
    return final[first : letters[-ended] if ended else len(final)]
