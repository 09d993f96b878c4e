"""The agent's streamed words, and which of them were never streamed here."""

from __future__ import annotations

from typing import Any

from podium import text

Json = dict[str, Any]


UNKNOWN = "\0"
"""Stands for each character that was streamed before the follower came and is kept nowhere."""


class Words:
    """What was streamed, turn by turn.

    What is streamed says where it stands: how much of its kind came before it in its part of the
    turn. A daemon that is started again tells the part that goes on from its beginning, in pieces
    of other sizes perhaps, and a model that is asked once more may say something else.
    """

    def __init__(self) -> None:
        self._streamed: dict[str, dict[tuple[str, str], str]] = {}
        self._arrived: dict[str, str] = {}
        self._holed: set[str] = set()
        self._message = self._part = ""

    def is_new(self, data: Json) -> bool:
        """Take a ``turn.output`` that is no text; false for one that was told before."""
        if data.get("kind") in ("text", "progress"):
            return True  # words are compared as they are added
        return bool(self._take(data)[0])

    def add(self, data: Json) -> str:
        """Take a delta of text and return what of it to write: a new message begins a paragraph,
        and so does what takes the place of other words."""
        turn, message, part = (str(data.get(name, "")) for name in ("turn_id", "uuid", "part"))
        arrived, had = self._arrived.get(turn, ""), self._had(data)
        if arrived and data.get("at", 0) > len(had):
            self._holed.add(turn)  # what the reply or the turn says at its end has the middle
            return ""
        new, replaced = self._take(data)
        if not new:
            return ""
        begins = replaced or message != self._message
        joined = part != self._part and not arrived.endswith("\n")
        apart = "\n\n" if arrived and (begins or joined) else ""
        self._message, self._part = message, part
        self._arrived[turn] = arrived.removesuffix(replaced) + apart + new
        return apart + new

    def reply(self, data: Json) -> str:
        """Take a whole reply of a model, and return what of it was not streamed here."""
        turn, said = str(data.get("turn_id")), str(data.get("said") or "")
        place = {"turn_id": turn, "part": data.get("number"), "kind": "text"}
        arrived, shown = self._arrived.get(turn, ""), self._had(place)
        whole = bool(shown) and turn not in self._holed
        self._holed.discard(turn)
        if whole or not said.strip():
            return ""
        follows = bool(shown) and said.startswith(shown)
        words = said.removeprefix(shown) if follows else unsaid(said, shown)
        if words and arrived and not follows and not arrived.endswith("\n"):
            words = f"\n\n{words}"
        self._streamed[turn][_key(place)] = said
        self._arrived[turn] = arrived + words
        self._part = str(data.get("number"))
        return words

    def missing(self, data: Json) -> tuple[str, bool]:
        """What a ``turn.ended`` says that was not streamed here, and whether it was said before
        something that was."""
        final, turn = str(data.get("text") or ""), str(data.get("turn_id"))
        arrived = self._arrived.pop(turn, "")
        self._streamed.pop(turn, None)
        self._holed.discard(turn)
        words = unsaid(final, arrived)
        late = bool(words and arrived) and not final.endswith(words)
        if arrived and final.endswith(words) and words != final:
            # The blanks between the two were told with the first.
            words = words.removeprefix(arrived[len(arrived.rstrip()) :])
        if arrived and words == final:
            words = f"\n\n{final}"
        return words, late

    def _had(self, data: Json) -> str:
        """What was streamed of this kind in this part."""
        return self._streamed.setdefault(str(data.get("turn_id")), {}).get(_key(data), "")

    def _take(self, data: Json) -> tuple[str, str]:
        """Take a piece: what of it is to be told, and what was told that it takes the place of."""
        delta, had = str(data.get("delta", "")), self._had(data)
        at = data.get("at", len(had))
        had = had.ljust(at, UNKNOWN)
        told = had[at : at + len(delta)]
        before, new, replaced = had, delta[len(told) :], ""
        if any(one not in (other, UNKNOWN) for one, other in zip(told, delta, strict=False)):
            before, replaced = had[:at], had.lstrip(UNKNOWN)
            new = before.lstrip(UNKNOWN) + delta
        streamed = self._streamed[str(data.get("turn_id"))]
        streamed[_key(data)] = before + (delta if replaced else new)
        return new, replaced


def _key(data: Json) -> tuple[str, str]:
    return str(data.get("part", "")), str(data.get("kind"))


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
