"""The agent's streamed words, and which of them were never streamed here."""

from __future__ import annotations

from typing import Any

from podium import text

Json = dict[str, Any]


class Words:
    """What was streamed, turn by turn.

    A daemon that starts again reads a turn that goes on from its beginning, or asks a model for its
    reply once more. It streams all of that again, but who comes late misses the beginning of it:
    ``again`` announces that. What is streamed then is told on where it leads on from what was told,
    and kept back where it does not: what the reply or the turn says at its end has the middle, too.
    """

    def __init__(self) -> None:
        self._told: dict[str, list[tuple[str, ...]]] = {}
        self._arrived: dict[str, str] = {}
        self._settled: dict[str, int] = {}
        self._repeated: dict[str, int] = {}
        self._retold: dict[str, str] = {}
        self._message: str | None = None

    def again(self) -> None:
        """What was streamed may come once more from here on, or some of it never."""
        self._repeated = dict.fromkeys(self._told, 0)
        for turn, arrived in self._arrived.items():
            if len(arrived) > self._settled.get(turn, 0):
                self._retold[turn] = ""
        self._message = None

    def is_new(self, data: Json) -> bool:
        """Take a ``turn.output``; false for one that was told before. Words are compared as they
        are added: they may come in other pieces."""
        if data.get("kind") == "text":
            return True
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
        """Take a delta of text and return what to write: a new message begins a paragraph."""
        delta = str(data.get("delta", ""))
        turn, message = str(data.get("turn_id")), str(data.get("uuid"))
        retold = self._retold.get(turn)
        before = self._arrived.get(turn, "") if retold is None else retold
        apart = "\n\n" if before and message != self._message else ""
        self._message = message
        if retold is None:
            self._arrived[turn] = before + apart + delta
            return apart + delta
        self._retold[turn] = retold = before + apart + delta
        shown = self._arrived[turn][self._settled.get(turn, 0) :]
        if not retold.startswith(shown):
            return ""
        del self._retold[turn]
        self._arrived[turn] += retold[len(shown) :]
        return retold[len(shown) :]

    def reply(self, data: Json) -> str:
        """Take a whole reply of a model, and return what was kept back of it."""
        turn, said = str(data.get("turn_id")), str(data.get("text") or "")
        arrived, kept = self._arrived.get(turn, ""), self._retold.pop(turn, "")
        shown = arrived[self._settled.get(turn, 0) :].lstrip()
        words, end = "", said.find(shown) + len(shown)
        if kept and shown in said and kept in said[end - len(shown) :]:
            words = said[end : said.rfind(kept) + len(kept)]
        elif kept and kept.strip() not in shown:
            words = f"\n\n{kept}"  # the model has said something else this time
        self._arrived[turn] = arrived + words
        self._settled[turn] = len(arrived + words)
        return words

    def missing(self, data: Json) -> tuple[str, bool]:
        """What a ``turn.ended`` says that was not streamed here, and whether it was said before
        something that was."""
        final, turn = str(data.get("text") or ""), str(data.get("turn_id"))
        arrived, kept = self._arrived.pop(turn, ""), self._retold.pop(turn, "")
        self._told.pop(turn, None)
        self._settled.pop(turn, None)
        words = unsaid(final, arrived)
        late = bool(words and arrived) and not final.endswith(words)
        if arrived and final.endswith(words) and words != final:
            # The blanks between the two were told with the first.
            words = words.removeprefix(arrived[len(arrived.rstrip()) :])
        if arrived and words == final:
            words = f"\n\n{final}"
        if kept and not words and "".join(kept.split()) not in "".join(arrived.split()):
            words = f"\n\n{kept}"
        return words, late


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
