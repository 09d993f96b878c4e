"""Composes a request the plain way, each text made anew: what ``compose`` has to come to."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from podiumd.core.prompts.context_window import Material
from podiumd.core.prompts.history import (
    NOTHING,
    LastLines,
    feedback,
    readings,
    reply_text,
    said_after,
    shortened,
    stale,
    summary_of,
    words_of,
)
from podiumd.core.reply.model_message import Message

LEAST = {"output_room": 400, "summary_room": 2_000}


def plainly(material: Material, room: int) -> tuple[tuple[Message, ...], int]:
    """The messages of the next request, and how large they are."""
    order = _order(material)

    def fits(cut: dict[str, int]) -> bool:
        return _size(_messages(material, cut)) <= room

    def widest(cut: dict[str, int], name: str, most: int) -> dict[str, int]:
        rooms = range(most, LEAST[name], -1)
        found = bisect_left(rooms, True, key=lambda value: fits({**cut, name: value}))
        return {**cut, name: max(LEAST[name], most - found)}

    steps = 0
    if not fits({}):
        steps = bisect_left(range(len(order)), True, key=lambda n: fits(Counter(order[:n])))
    cut = dict(Counter(order[:steps]))
    if not fits(cut):
        last = material.loop.present
        results = [done.result for done in last.actions] if last else []
        cut = widest(
            cut, "output_room", max((len(one.output) for one in results if one), default=0)
        )
    if not fits(cut):
        most = sum(len(line) + 1 for line in _summary(material, cut))
        cut = widest(cut, "summary_room", most)
    messages = _messages(material, cut)
    return messages, _size(messages)


def _order(material: Material) -> list[str]:
    older = max(0, len(material.loop.rounds) - 1)
    recent = min(older, 3)
    return [
        *["outputs"] * (older - recent),
        *["past"] * len(material.past),
        *["outputs"] * recent,
        *["rounds"] * older,
        *["opening"] * bool(material.opening),
        *["files"] * len(material.files),
    ]


def _size(messages: tuple[Message, ...]) -> int:
    return sum(len(one.text.encode("utf-8", "surrogatepass")) + 16 for one in messages)


def _messages(material: Material, cut: dict[str, int]) -> tuple[Message, ...]:
    told = []
    for turn in material.past[cut.get("past", 0) :]:
        told.append(Message("user", turn.prompt if turn.prompt.strip() else NOTHING))
        did = ["\n".join(["What I did:", *(f"- {line}" for line in turn.did)])] if turn.did else []
        answer = [turn.answer] if turn.answer.strip() else []
        told.append(Message("assistant", "\n\n".join([*did, *answer]) or NOTHING))
    told.append(Message("user", _first(material, cut)))
    rounds = material.loop.rounds
    said = said_after(material.loop)
    for index in range(cut.get("rounds", 0), len(rounds)):
        one = rounds[index]
        back = feedback(
            one,
            said.get(one.number, ()),
            old=stale(readings(one), material.digests),
            outputs=index >= cut.get("outputs", 0),
            room=cut.get("output_room") if index == len(rounds) - 1 else None,
        )
        told += [Message("assistant", reply_text(one)), Message("user", back)]
    if material.files:
        told[-1] = Message("user", f"{told[-1].text}\n\n{_files(material, cut)}")
    return tuple(told)


def _first(material: Material, cut: dict[str, int]) -> str:
    parts = [material.goal if material.goal.strip() else NOTHING]
    parts += [words_of(text) for text in said_after(material.loop).get(0, ())]
    summary = _summary(material, cut)
    if summary:
        parts.append("\n".join(["Summarised to save room:", *summary]))
    if material.opening:
        gone = "[what was looked up for you is left out to save room]"
        parts.append(gone if cut.get("opening") else material.opening)
    return "\n\n".join(parts)


def _summary(material: Material, cut: dict[str, int]) -> list[str]:
    lines = []
    for turn in material.past[: cut.get("past", 0)]:
        lines.append(f"- earlier the person asked: {shortened(turn.prompt)}")
        lines += [f"  - {line}" for line in turn.did]
        lines.append(f"  - you answered: {shortened(turn.answer)}")
    said = said_after(material.loop)
    for one in material.loop.rounds[: cut.get("rounds", 0)]:
        lines += summary_of(one, said.get(one.number, ()))
    room = cut.get("summary_room")
    return lines if room is None else LastLines(lines).within(room)


def _files(material: Material, cut: dict[str, int]) -> str:
    gone = cut.get("files", 0)
    parts = [
        f"[{file.path} has changed since you saw it; read it again before you patch it]"
        for file in material.files[:gone]
    ]
    rest = material.files[gone:]
    if rest:
        parts.append("Files that have changed since you saw them, as they are now:")
    return "\n\n".join([*parts, *(file.text for file in rest)])
