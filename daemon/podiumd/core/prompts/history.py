"""The history of a native turn for its model: results, a person's words meanwhile, summaries."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from podiumd.core.reply.actions import Action, parse_reply
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.native_loop_state import ActionState, LoopState, Round
from podiumd.core.sizes import size_of, sums

NOTHING: Final = "(nothing)"
"""Stands for an empty reply: no API takes an empty message."""

_NONE_OLD: Final[Mapping[int, str]] = MappingProxyType({})
_OLDER: Final = "- [{} older lines left out to save room]"
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
    """The version of a file that a model has seen last; ``whole`` is false where it only knows its
    own changes, so that line numbers are no longer certain."""

    digest: str | None
    whole: bool


class Reading(NamedTuple):
    """A version of a file that an action of a reply, by its place, has shown."""

    action: int
    path: str
    digest: str


def read_version(result: lf.Result) -> tuple[str, str] | None:
    """Return the path and digest of the file that a result shows; ``None`` for one without."""
    if result.action != "read_file" or not result.success:
        return None
    found = _READ_HEAD.match(result.output)
    return (found["path"], found["digest"]) if found else None


def known_after(round_: Round) -> list[tuple[str, Seen]]:
    """List the files that a reply has read or written, the latest last.

    Each is as the model knows it then.
    """
    known = []
    for done in round_.actions:
        if done.result is None or not done.result.success:
            continue
        read = read_version(done.result)
        if read is not None:
            known.append((read[0], Seen(read[1], whole=True)))
        elif done.intended is not None and done.intended.changes:
            change = done.intended.changes[0]
            known.append((change.path, Seen(change.after, done.action.name == "write_file")))
    return known


def working_set(
    known: Iterable[tuple[str, Seen]], before: Mapping[str, Seen] | None = None
) -> dict[str, Seen]:
    """Return each file that a turn has read or written, once, as it is known last.

    The latest comes last. ``before`` is the working set that they are added to.
    """
    files = dict(before or {})
    for path, seen in known:
        files.pop(path, None)
        files[path] = seen
    return files


def outdated(known: dict[str, Seen], digests: Mapping[str, str | None]) -> tuple[str, ...]:
    """Files of the working set whose present lines the model does not know, the latest first.

    ``digests`` are those of the files as they are now, ``None`` for one that is gone.
    """
    return tuple(
        path
        for path, seen in reversed(known.items())
        if digests.get(path) is not None and not (seen.whole and seen.digest == digests[path])
    )


def readings(round_: Round) -> tuple[Reading, ...]:
    """Return what the results of a reply show of files."""
    found = []
    for index, done in enumerate(round_.actions):
        read = read_version(done.result) if done.result is not None else None
        if read is not None:
            found.append(Reading(index, *read))
    return tuple(found)


def stale(shown: Iterable[Reading], digests: Mapping[str, str | None]) -> dict[int, str]:
    """Find the readings that are older than ``digests``: the path by the action."""
    return {
        reading.action: reading.path
        for reading in shown
        if reading.path in digests and digests[reading.path] != reading.digest
    }


def feedback(
    round_: Round,
    said: Sequence[str] = (),
    *,
    old: Mapping[int, str] = _NONE_OLD,
    outputs: bool = True,
    room: int | None = None,
) -> str:
    """Build the message to the model after its reply and a person's words.

    ``said`` are those words. ``old`` are the results that show an older version of a file
    (``stale``): they are left out, with a note. Without ``outputs`` long ones are left out, with
    ``room`` (characters) each is cut to it, in its middle.
    """
    parts = []
    if round_.fault is not None:
        parts.append(
            f"Your reply could not be used: {round_.fault}. Nothing of it was done. Write it again"
            " in the form that is asked for."
        )
    count = len(round_.actions)
    for index, done in enumerate(round_.actions):
        if done.result is not None:
            text = _output(done.result, old.get(index), outputs=outputs, room=room)
            parts.append(f"Result {index + 1} of {count}:\n{_head(done.result)}{text}")
    if round_.commit is not None:
        parts.append(
            f"The commit of your changes was refused: {round_.commit.detail}\nMend what it names,"
            " then say that you are done. Where only the person can mend it, say what they have to"
            " do, without any action: that ends your turn."
        )
    parts += [words_of(text) for text in said]
    return "\n\n".join(parts) or "Go on."


def words_of(text: str) -> str:
    """Mark a person's words in the middle of a turn as such."""
    return f"The person says:\n{text}"


def said_after(loop: LoopState) -> dict[int, tuple[str, ...]]:
    """Return a person's words in a turn by the reply that they came after; 0: before."""
    said: dict[int, tuple[str, ...]] = {}
    for words in loop.words:
        said[words.after] = (*said.get(words.after, ()), words.text)
    return said


def reply_text(round_: Round) -> str:
    """Return the model's own words."""
    return round_.text if round_.text.strip() else NOTHING


def summary_of(round_: Round, said: Sequence[str] = ()) -> list[str]:
    """Summarise a reply, what came of it and a person's words after it in a few lines.

    ``said`` are those words.
    """
    lines = []
    if round_.fault is not None:
        lines.append(f"- a reply that could not be used: {shortened(round_.fault)}")
    else:
        prose = parse_reply(round_.text).prose
        lines += [f"- you said: {shortened(prose)}"] if prose else []
    lines += [f"- {did(done)}" for done in round_.actions if done.result is not None]
    if round_.commit is not None:
        lines.append(f"- the commit was refused: {shortened(round_.commit.detail)}")
    return lines + [f"- the person said: {text}" for text in said]


def did(done: ActionState) -> str:
    """Describe one action and what came of it in a line."""
    assert done.result is not None
    ended = "ok" if done.result.success else "failed"
    told = shortened(done.result.message)
    return f"{_target(done.action)}: {ended}" + (f": {told}" if told else "")


def shortened(text: str, most: int = _SUMMARY_PART) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def cut_middle(text: str, most: int) -> str:
    """Cut a text to at most ``most`` characters; what is too much is left out of its middle."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    left_out = len(text) - head - tail
    notice = f"\n[... {left_out} characters left out to save room ...]\n"
    return text[:head] + notice + (text[-tail:] if tail else "")


class LastLines:
    """The last of some lines, as many as fit, below one that counts the others."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._characters = sums(len(line) + 1 for line in reversed(lines))
        self._bytes = sums(size_of(line) + 1 for line in reversed(lines))

    def within(self, room: int) -> list[str]:
        """Return the last lines that fit into ``room`` characters."""
        out = self._left_out(room)
        return [_OLDER.format(out), *self._lines[out:]] if out else list(self._lines)

    def size(self, room: int) -> int:
        """Return the bytes of the lines that fit, with an end of line for each."""
        out = self._left_out(room)
        note = len(_OLDER.format(out)) + 1 if out else 0
        return note + self._bytes[len(self._lines) - out]

    def _left_out(self, room: int) -> int:
        return len(self._lines) - (bisect_right(self._characters, room) - 1)


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


def _output(result: lf.Result, old: str | None, *, outputs: bool, room: int | None) -> str:
    if not result.output:
        return ""
    text = result.output
    if old is not None:
        text = f"[left out: {old} has changed since, these are no longer its lines]"
    elif not outputs and len(text) > _WORTH_LEAVING_OUT:
        text = f"[{len(text)} characters left out to save room; do the action again to see them]"
    elif room is not None:
        text = cut_middle(text, room)
    return f"\noutput:\n{text}"
