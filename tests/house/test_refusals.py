"""What the client makes of a refused parameter, in the words that the daemon really has.

The client knows nothing of the daemon's modules and takes its sentence apart: one that is worded
anew here is seen to be told badly there.
"""

from __future__ import annotations

from typing import Final, get_type_hints

import msgspec
import pytest

from podium.cli import arguments
from podium.commands.spec.table import Command, option
from podium.errors import INVALID_PARAMETER, Refusal
from podiumd.rpc.params import fault_of
from podiumd.wire.declared import METHODS
from podiumd.wording import expected, shown

WRONG: Final[tuple[object, ...]] = ("", "a b\n", 3.5, -1, True, {"x": [None]}, [{}])


def refused() -> dict[str, tuple[str, str, object]]:
    """A parameter of each type that any method takes, and the words for a value that it does not
    take, by what it takes."""
    found: dict[str, tuple[str, str, object]] = {}
    for method in METHODS:
        for name, kind in get_type_hints(method.params, include_extras=True).items():
            one: type[msgspec.Struct] = msgspec.defstruct("One", [(name, kind)])
            for value in WRONG:
                parameter, words = fault_of(one, {name: value})
                if parameter == name:
                    found[expected(kind)] = (name, words, value)
    return found


REFUSED: Final = refused()


def told(name: str, words: str) -> str:
    """The client's sentence for what ``rpc.adapter`` answers."""
    command = Command(("x",), "", "", "", arguments=(option("--own", "", "WORD", means=name),))
    message = f"Invalid params: {words}."
    refusal = Refusal(INVALID_PARAMETER, message, {"parameter": name})
    return arguments.refused(command, refusal).message


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_of_the_daemon_is_told_by_the_commands_own_name(case: str) -> None:
    name, words, value = REFUSED[case]
    said = told(name, words)

    taken, fix = (
        case.removesuffix(" or null").replace("a table", "an object"),
        "see 'podium x --help'.",
    )
    assert "null" not in taken.split()
    assert said.startswith(f"--own takes {taken}, not ") and said.endswith(f": {fix}")
    if isinstance(value, (str, float)):
        assert said == f"--own takes {taken}, not {shown(value)}: {fix}"


def test_there_are_refusals_of_many_types() -> None:
    assert len(REFUSED) > 10 and any(case.endswith(" or null") for case in REFUSED)
