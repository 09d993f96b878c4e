"""The steps by which a turn is begun and steered over JSON-RPC, each written exactly once. Pure.

A step goes into the agent's pipe in one write with its *mark*: a request of a method that no agent
has. The write is whole or not at all, also when its writer is killed, and an agent reads in order
and answers an unknown method at once, also while it works. So the mark's answer proves that the
step has arrived.

Whoever takes a turn up reads the whole spool first. A step of which nothing there tells may be in
the pipe still, or may never have been written. That is asked by a *probe*, a mark without a step:
once it is answered the agent has read all that came before, and a step whose mark is not answered
by then was never written. It is written now.

An agent that answers no mark cannot be asked (``weak``): after a crash in the window between two
steps its turn is ended, and settled by what it has left.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

import msgspec

from podiumd.drivers.dialect import Group
from podiumd.formats.jsonrpc_lines import Answer, Id, Request, write

MARK_METHOD: Final = "_podium/mark"
_MARK, _PROBE = "m:", "p:"
_DIGITS: Final = 9
"""Digits of a number of ours at most: an answer with more is to nothing that we asked."""


class _Fate(Enum):
    PLANNED = auto()  # by us, and certainly not written
    DOUBTFUL = auto()  # an earlier daemon may have written it
    SENT = auto()  # handed out to be written
    ARRIVED = auto()  # the agent has it


class _Step(msgspec.Struct):
    fate: _Fate
    lines: Group | None = None
    marked: bool = True
    mark_answered: bool = False
    answered: bool = False


class Steps:
    """The steps of one turn, in their order; a step's name is the id of its request.

    ``version``: whether the agent wants the member ``jsonrpc``. Feed every answer of the spool from
    its beginning; then write what ``due`` hands out.
    """

    def __init__(self, *, version: bool) -> None:
        self._version = version
        self._steps: dict[str, _Step] = {}
        self._attached = False
        self._probe = 0
        self._probed = self._probing = False

    def begin(self, name: str) -> None:
        """Note a step that stood in the agent's input before its process began."""
        self._steps[name] = _Step(_Fate.ARRIVED, marked=False)

    def expect(self, name: str) -> None:
        """Note a step that a daemon before may have written, and whose lines are not known yet."""
        self._steps.setdefault(name, _Step(_Fate.DOUBTFUL))

    def plan(self, name: str, *lines: bytes, marked: bool = True) -> None:
        """Add a step, which is due once those before it are out. Again for a name is harmless.

        Where the agent's answer to an earlier step makes this one possible, plan it when that
        answer is fed, whether it is read for the first time or again.

        Args:
            name: the id of its request.
            lines: what to write.
            marked: whether it goes with a mark; only the first steps of a turn may do without.
        """
        step = self._steps.setdefault(name, _Step(_Fate.PLANNED, marked=marked))
        step.lines = lines

    def feed(self, answer: Answer) -> str | None:
        """Take an answer of the agent; return the step that it is the first answer to, if any.

        Answers to marks and probes are dealt with here, and so is what is answered twice.
        """
        name = _name(answer.id)
        if name is None:
            return None
        if name.startswith(_MARK):
            self._arrived(name.removeprefix(_MARK), mark=True)
            return None
        if name.startswith(_PROBE):
            self._probe_answered(name.removeprefix(_PROBE))
            return None
        step = self._steps.get(name)
        if step is None or step.answered:
            return None
        step.answered = True
        self._arrived(name)
        return name

    def confirm(self, name: str) -> None:
        """Note that the agent shows by its own words that it has this step."""
        self._arrived(name)

    def attached(self) -> None:
        """Note that the whole spool of an earlier daemon was fed.

        What was planned until here an earlier daemon may have written. What is planned later it
        has not: the answer that made it possible would stand in the spool.
        """
        self._attached = True
        for step in self._steps.values():
            if step.fate is _Fate.PLANNED:
                step.fate = _Fate.DOUBTFUL

    def due(self) -> list[Group]:
        """Hand out what is to be written now, each group in one write; once."""
        groups: list[Group] = []
        if self._probing:
            return groups
        for name, step in self._steps.items():
            if step.fate is _Fate.DOUBTFUL:
                if self._attached and not self._probed:
                    self._probed = self._probing = True
                    groups.append((self._mark(f"{_PROBE}{self._probe}"),))
                break
            if step.fate is _Fate.PLANNED and step.lines is not None:
                step.fate = _Fate.SENT
                mark = (self._mark(f"{_MARK}{name}"),) if step.marked else ()
                groups.append((*step.lines, *mark))
        return groups

    def has_arrived(self, name: str) -> bool:
        """Return whether the agent is known to have this step."""
        step = self._steps.get(name)
        return step is not None and step.fate is _Fate.ARRIVED

    @property
    def doubtful(self) -> bool:
        """Return whether a probe must tell first whether a step was written."""
        return self._probing or any(step.fate is _Fate.DOUBTFUL for step in self._steps.values())

    @property
    def weak(self) -> bool:
        """Return whether the agent answers no marks: it has read beyond one, without a word."""
        unanswered = False
        for step in self._steps.values():
            if unanswered and step.fate is _Fate.ARRIVED:
                return True
            unanswered = unanswered or (step.marked and step.answered and not step.mark_answered)
        return False

    def _arrived(self, name: str, *, mark: bool = False) -> None:
        step = self._steps.get(name)
        if step is not None:
            step.fate = _Fate.ARRIVED
            step.mark_answered = step.mark_answered or mark

    def _probe_answered(self, number: str) -> None:
        # A number is taken anew as long as no answer to it is in the spool. So the answer may be
        # that to an earlier daemon's probe: as good as ours, for no daemon writes anything between
        # its probe and the answer.
        ours = self._probing and number == str(self._probe)
        if number.isdecimal() and len(number) <= _DIGITS:
            self._probe = max(self._probe, int(number) + 1)
        if ours:
            self._probing = False
            for step in self._steps.values():
                if step.fate is _Fate.DOUBTFUL:
                    step.fate = _Fate.PLANNED

    def _mark(self, id: str) -> bytes:
        return write(Request(id, MARK_METHOD), version=self._version)


def _name(id: Id | None) -> str | None:
    return id if isinstance(id, str) else None
