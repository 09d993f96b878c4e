"""How a native turn is told back to its model: results, what a person said meanwhile, summaries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from podiumd.core import loop_facts as lf
from podiumd.core.actions import Action, parse_reply
from podiumd.core.loop_state import ActionState, LoopState, Round

NOTHING: Final = "(nothing)"
"""Stands for an empty reply: no API takes an empty message."""

_SUMMARY_PART: Final = 160
_WORTH_LEAVING_OUT: Final = 300
TELLING: Final = (
    *("path", "file", "command", "query", "pattern"),
    *("key", "to", "outcome", "question", "message"),  # of Podium's own tools
)
"""The parameters that say most of an action, for a line about it."""

# The head of what read_file returns: "src/a.py: lines 1 to 9 of 9, sha256 ...".
_READ_HEAD: Final = re.compile(r"(?P<path>.+): [^\n]*\bsha256 (?P<digest>[0-9a-f]{64})")


class Seen(msgspec.Struct, frozen=True):
    """Which version of a file a model has seen last; ``whole`` is false where it only knows its
    own changes, so that line numbers are no longer certain."""

    digest: str | None
    whole: bool


def read_version(result: lf.Result) -> tuple[str, str] | None:
    """The path and digest of the file that a result shows; ``None`` for one that shows none."""
    if result.action != "read_file" or not result.success:
        return None
    found = _READ_HEAD.match(result.output)
    return (found["path"], found["digest"]) if found else None


def working_set(loop: LoopState) -> dict[str, Seen]:
    """The files that the turn has read or written, the latest last, as the model knows them."""
    files: dict[str, Seen] = {}
    for round_ in loop.rounds:
        for done in round_.actions:
            if done.result is None or not done.result.success:
                continue
            read = read_version(done.result)
            if read is not None:
                path, seen = read[0], Seen(read[1], whole=True)
            elif done.intended is not None and done.intended.changes:
                change = done.intended.changes[0]
                path, seen = change.path, Seen(change.after, done.action.name == "write_file")
            else:
                continue
            files.pop(path, None)
            files[path] = seen
    return files


def outdated(loop: LoopState, digests: Mapping[str, str | None]) -> tuple[str, ...]:
    """Files of the working set whose present lines the model does not know, the latest first.

    ``digests`` are those of the files as they are now, ``None`` for one that is gone.
    """
    known = working_set(loop)
    return tuple(
        path
        for path, seen in reversed(known.items())
        if digests.get(path) is not None and not (seen.whole and seen.digest == digests[path])
    )


def feedback(
    round_: Round,
    loop: LoopState,
    *,
    digests: Mapping[str, str | None],
    outputs: bool = True,
    room: int | None = None,
) -> str:
    """What goes back to the model after a reply of it.

    ``digests`` are those of the files as they are now: what shows an older version is left out
    and said so. Without ``outputs`` long ones are left out, with ``room`` (characters) each is
    cut to it, in its middle.
    """
    parts = []
    if round_.fault is not None:
        parts.append(
            f"Your reply could not be used: {round_.fault}. Nothing of it was done. Write it again"
            " in the form that is asked for."
        )
    count = len(round_.actions)
    for number, done in enumerate(round_.actions, 1):
        if done.result is not None:
            text = _output(done.result, digests, outputs=outputs, room=room)
            parts.append(f"Result {number} of {count}:\n{_head(done.result)}{text}")
    if round_.commit is not None:
        parts.append(
            f"The commit of your changes was refused: {round_.commit.detail}\nMend what it names,"
            " then say that you are done. Where only the person can mend it, say what they have to"
            " do, without any action: that ends your turn."
        )
    parts += [words_of(text) for text in _said_after(loop, round_.number)]
    return "\n\n".join(parts) or "Go on."


def words_of(text: str) -> str:
    """A person's words in the middle of a turn."""
    return f"The person says:\n{text}"


def said_before(loop: LoopState) -> list[str]:
    """What a person said before the first reply."""
    return [words_of(text) for text in _said_after(loop, 0)]


def reply_text(round_: Round) -> str:
    """The model's own words."""
    return round_.text if round_.text.strip() else NOTHING


def summary_of(round_: Round, loop: LoopState) -> list[str]:
    """A reply and what came of it in a few lines."""
    lines = []
    if round_.fault is not None:
        lines.append(f"- a reply that could not be used: {shortened(round_.fault)}")
    else:
        prose = parse_reply(round_.text).prose
        lines += [f"- you said: {shortened(prose)}"] if prose else []
    lines += [f"- {did(done)}" for done in round_.actions if done.result is not None]
    if round_.commit is not None:
        lines.append(f"- the commit was refused: {shortened(round_.commit.detail)}")
    said = _said_after(loop, round_.number)
    return lines + [f"- the person said: {text}" for text in said]


def did(done: ActionState) -> str:
    """One action and what came of it, in a line."""
    assert done.result is not None
    ended = "ok" if done.result.success else "failed"
    told = shortened(done.result.message)
    return f"{_target(done.action)}: {ended}" + (f": {told}" if told else "")


def shortened(text: str, most: int = _SUMMARY_PART) -> str:
    """The beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def cut_middle(text: str, most: int) -> str:
    """A text of at most ``most`` characters; what is too much is left out of its middle."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    left_out = len(text) - head - tail
    notice = f"\n[... {left_out} characters left out to save room ...]\n"
    return text[:head] + notice + (text[-tail:] if tail else "")


def lines_within(lines: Iterable[str], room: int) -> list[str]:
    """The last lines that fit into ``room`` characters, below one that counts the others."""
    kept: list[str] = []
    left_out = 0
    for line in reversed(list(lines)):
        room -= len(line) + 1
        if room >= 0 and not left_out:
            kept.append(line)
        else:
            left_out += 1
    note = [f"- [{left_out} older lines left out to save room]"] if left_out else []
    return note + kept[::-1]


def _target(action: Action) -> str:
    for name in TELLING:
        value = action.args.get(name)
        if isinstance(value, str) and value:
            return f"{action.name} {shortened(value, 80)}"
    return action.name


def _head(result: lf.Result) -> str:
    told = {
        "action": result.action,
        "success": result.success,
        "message": result.message,
        "critical": result.critical,
    }
    return json.dumps(told, ensure_ascii=False)


def _output(
    result: lf.Result, digests: Mapping[str, str | None], *, outputs: bool, room: int | None
) -> str:
    if not result.output:
        return ""
    text = result.output
    read = read_version(result)
    if read is not None and read[0] in digests and digests[read[0]] != read[1]:
        text = f"[left out: {read[0]} has changed since, these are no longer its lines]"
    elif not outputs and len(text) > _WORTH_LEAVING_OUT:
        text = f"[{len(text)} characters left out to save room; do the action again to see them]"
    elif room is not None:
        text = cut_middle(text, room)
    return f"\noutput:\n{text}"


def _said_after(loop: LoopState, number: int) -> list[str]:
    return [words.text for words in loop.words if words.after == number]
