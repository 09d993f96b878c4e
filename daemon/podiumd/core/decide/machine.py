"""Say what happens by where a run is and which command comes: a state machine as a table. Pure.

The table is data, so it can be printed (``Table.rules``), and it is typed by the commands that it
has rules for: one that takes every command (``core.decide.workflow.MACHINE``) is an error of ``make
types`` as long as a command has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, Never, TypeVar, get_args

from podiumd.core.decide.decision import Decision
from podiumd.core.run import commands as c
from podiumd.core.run.fact import MoveKind
from podiumd.core.run.state import Place

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Taken_contra = TypeVar("Taken_contra", bound=c.Command, contravariant=True)
More = TypeVar("More", bound=c.Command)

NEXT: Final[tuple[Place, ...]] = get_args(MoveKind)
"""The places of a run that has something to do next."""

LIVE: Final[tuple[Place, ...]] = (*NEXT, "in-turn", "waiting")
"""The places of a run that has not ended."""


class Rule(Generic[Taken_contra]):
    """The effect of a command in a run that is at one of the places ``at``.

    ``to`` are the places that it may lead to; it may always leave the run where it is, with a
    question, with a stop that is to take hold later, or unchanged.
    """

    def __init__(
        self,
        at: Place | tuple[Place, ...],
        do: Callable[[Decision, Taken_contra], None],
        *,
        to: tuple[Place, ...] = (),
    ) -> None:
        self.at: Final[tuple[Place, ...]] = (at,) if isinstance(at, str) else at
        self.do: Final = do
        self.to: Final = to


class Table(Generic[Taken_contra]):
    """The rule of each command at each place. Without a rule, a command changes nothing."""

    def __init__(self, rules: dict[tuple[Place, type[c.Command]], Rule[Any]]) -> None:
        self.rules: Final = rules
        self._commands = {command for _, command in rules}

    def on(self, command: type[More], *rules: Rule[More]) -> Table[Taken_contra | More]:
        """Return this table with the rules of one more command, at most one for a place."""
        table = dict(self.rules)
        for rule in rules:
            for place in rule.at:
                assert (place, command) not in table, "two rules for one place"
                table[place, command] = rule
        return Table(table)

    def takes(self, command: c.Command) -> TypeIs[Taken_contra]:
        """Return whether the table has rules for a command."""
        return type(command) in self._commands

    def apply(self, d: Decision, command: Taken_contra) -> None:
        """Do what the table says."""
        rule = self.rules.get((d.state.place, type(command)))
        if rule is not None:
            rule.do(d, command)


NO_RULES: Final[Table[Never]] = Table({})
