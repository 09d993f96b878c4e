"""The agent's streamed words, and which of them were never streamed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.nearest import common

if TYPE_CHECKING:
    from podium import protocol


UNKNOWN = "\0"
"""Stands for each character that was streamed before the follower came and is kept nowhere."""


class Pieces:
    """Words that arrive in pieces, joined only where they are read as a whole."""

    def __init__(self, words: str = "") -> None:
        self._pieces = [words] if words else []
        self.length = len(words)

    def append(self, words: str) -> None:
        if words:
            self._pieces.append(words)
            self.length += len(words)

    def ends_line(self) -> bool:
        return bool(self._pieces) and self._pieces[-1].endswith("\n")

    def whole(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


class Words:
    """Text streamed so far, turn by turn.

    Each piece carries its place: how much of its kind came before it in its part of the turn. A
    daemon that is started again sends the present part from its beginning, in pieces of other sizes
    perhaps, and a model that is asked once more may write something else.
    """

    def __init__(self) -> None:
        self._streamed: dict[str, dict[tuple[str, str], Pieces]] = {}
        self._arrived: dict[str, Pieces] = {}
        self._holed: set[str] = set()
        self._message = self._part = ""

    def is_new(self, data: protocol.TurnOutput) -> bool:
        """Take a ``turn.output`` that is no text; return false for one that came before."""
        if data.get("kind") in ("text", "progress"):
            return True  # words are compared as they are added
        return bool(self._take(data)[0])

    def add(self, data: protocol.TurnOutput) -> str:
        """Take a delta of text and return what of it to write: a new message begins a paragraph,
        and so does what takes the place of other words."""
        turn, message, part = (str(data.get(name, "")) for name in ("turn_id", "uuid", "part"))
        arrived, had = self._arrived.setdefault(turn, Pieces()), self._had(turn, _place(data))
        if arrived.length and data.get("at", 0) > had.length:
            self._holed.add(turn)  # what the reply or the turn says at its end has the middle
            return ""
        new, replaced = self._take(data)
        if not new:
            return ""
        begins = replaced or message != self._message
        joined = part != self._part and not arrived.ends_line()
        apart = "\n\n" if arrived.length and (begins or joined) else ""
        self._message, self._part = message, part
        if replaced:
            arrived = self._arrived[turn] = Pieces(arrived.whole().removesuffix(replaced))
        arrived.append(apart + new)
        return apart + new

    def reply(self, data: protocol.ReplyReceivedData) -> str:
        """Take a whole reply of a model, and return what of it was not streamed here."""
        turn, said = data["turn_id"], data["said"]
        place = str(data["number"]), "text"
        arrived, shown = self._arrived.setdefault(turn, Pieces()), self._had(turn, place).whole()
        whole = bool(shown) and turn not in self._holed
        self._holed.discard(turn)
        if whole or not said.strip():
            return ""
        follows = bool(shown) and said.startswith(shown)
        words = said.removeprefix(shown) if follows else unsaid(said, shown)
        if words and arrived.length and not follows and not arrived.ends_line():
            words = f"\n\n{words}"
        self._streamed[turn][place] = Pieces(said)
        arrived.append(words)
        self._part = place[0]
        return words

    def missing(self, data: protocol.TurnEndedData) -> tuple[str, bool]:
        """Return the text of a ``turn.ended`` that was not streamed here, and whether it is late.

        It is late if it comes before something that was streamed.
        """
        final, turn = data["text"], data["turn_id"]
        arrived = self._arrived.pop(turn, Pieces()).whole()
        self._streamed.pop(turn, None)
        self._holed.discard(turn)
        words = unsaid(final, arrived)
        late = bool(words and arrived) and not final.endswith(words)
        if arrived and final.endswith(words) and words != final:
            # The blanks between the two were shown with the first.
            words = words.removeprefix(arrived[len(arrived.rstrip()) :])
        if arrived and words and words == final:
            words = f"\n\n{final}"
        return words, late

    def _had(self, turn: str, place: tuple[str, str]) -> Pieces:
        """Return what was streamed of a kind in a part of a turn."""
        return self._streamed.setdefault(turn, {}).setdefault(place, Pieces())

    def _take(self, data: protocol.TurnOutput) -> tuple[str, str]:
        """Take a piece; return the part of it to show, and the text that it replaces."""
        turn, place, delta = data["turn_id"], _place(data), data["delta"]
        had = self._had(turn, place)
        at = data.get("at", had.length)
        had.append(UNKNOWN * (at - had.length))
        told = had.whole()[at : at + len(delta)] if at < had.length else ""
        if any(one not in (other, UNKNOWN) for one, other in zip(told, delta, strict=False)):
            before, replaced = had.whole()[:at], had.whole().lstrip(UNKNOWN)
            self._streamed[turn][place] = Pieces(before + delta)
            return before.lstrip(UNKNOWN) + delta, replaced
        new = delta[len(told) :]
        had.append(new)
        return new, ""


def _place(data: protocol.TurnOutput) -> tuple[str, str]:
    return str(data.get("part", "")), str(data.get("kind"))


def unsaid(final: str, shown: str) -> str:
    """Return the part of ``final`` that ``shown`` lacks, white space aside.

    A client that came in the middle of a turn has its end; one that lost the connection for a while
    has its beginning and perhaps its end. Where ``shown`` fits into ``final`` in no such way, all
    of it is returned.
    """
    said, whole = "".join(shown.split()), "".join(final.split())
    if whole in said:
        return ""
    begun = common(whole, said)
    ended = common(whole[begun:][::-1], said[begun:][::-1])
    if not said or begun + ended < len(said):
        return final
    letters = [at for at, letter in enumerate(final) if not letter.isspace()]
    first = letters[begun - 1] + 1 if begun else 0
    return final[first : letters[-ended] if ended else len(final)]
