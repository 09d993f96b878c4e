"""The words after a command as the values of its arguments, by the table of commands.

Every complaint is one sentence: what was given, what the command takes, where its help is.
"""

from __future__ import annotations

from typing import Any, NoReturn

from podium import text
from podium.commands.spec.table import Argument, Command
from podium.errors import INVALID_PARAMETER, KIND_OF, USAGE, Failure, Refusal, listing_of

HELP = ("-h", "--help")

_LISTED = 8
_SHOWN = 40


class HelpWanted(Exception):
    """The words ask for the command's help."""


def parse(command: Command, words: list[str]) -> dict[str, Any]:
    """Parse the words into the value of each argument, by its ``dest``.

    Raises:
        HelpWanted: one of the words is ``--help``.
        Failure: the command does not take these words, or needs more.
    """
    return _Words(command, words).values()


def name_of(command: Command) -> str:
    """Return the command as a person types it."""
    return " ".join(("podium", *command.path))


def refused(command: Command, refusal: Refusal) -> Failure:
    """Reword the daemon's refusal for the command.

    It names the command's own argument in place of the parameter that this has become. Any other
    refusal is returned as it is.
    """
    name = str(refusal.data.get("parameter"))
    argument = next((one for one in command.arguments if name in (one.dest, one.means)), None)
    _, found, said = refusal.message.partition(f"arameter '{name}': ")
    if refusal.code != INVALID_PARAMETER or argument is None or not found:
        return refusal
    label = argument.names[-1] if argument.is_option else argument.metavar
    if not said.startswith("expected "):
        return Failure(f"{label}: {said}", USAGE)
    wanted, wrong, given = said.removeprefix("expected ").rstrip(".").partition(", got ")
    taken = wanted.removesuffix(" or null") + (f", not {given}" if wrong else "")
    fix = _found_by(argument) or f"see '{name_of(command)} --help'"
    return Failure(f"{label} takes {taken}: {fix}.", USAGE)


def _found_by(argument: Argument) -> str:
    """Describe where a value of an argument is found; empty where nothing lists them."""
    return argument.otherwise or listing_of(KIND_OF.get(argument.values, ""))


class _Words:
    """Parser of one command's words, from the left."""

    def __init__(self, command: Command, words: list[str]) -> None:
        self._command = command
        self._words = list(words)
        self._options = {
            name: one for one in command.arguments if one.is_option for name in one.names
        }
        self._placed: list[str] = []
        self._unknown: list[str] = []
        self._values: dict[str, Any] = {
            one.dest: False if one.flag else [] if one.repeat else one.default
            for one in command.arguments
        }

    def values(self) -> dict[str, Any]:
        while self._words:
            word = self._words.pop(0)
            if word == "--":
                self._placed += self._words
                break
            if word in HELP:
                raise HelpWanted
            if self._is_option(word):
                if not self._take(word):
                    self._unknown.append(word)
            else:
                # The word after an unknown option is meant as its value.
                (self._unknown or self._placed).append(word)
        missing = self._place()
        if refused := [*self._placed, *self._unknown]:
            self._refuse(refused)
        if missing:
            fix = _found_by(missing[0])
            self._complain(f"needs {' and '.join(map(_wanted, missing))}", fix)
        return self._values

    def _is_option(self, word: str) -> bool:
        """Return whether a word is an option.

        A dash alone is standard input; a word that has a blank or is a number is a value.
        """
        return (
            word[:1] == "-"
            and len(word) > 1
            and not any(map(str.isspace, word))
            and (word in self._options or not word[1:].replace(".", "", 1).isdecimal())
        )

    def _take(self, word: str) -> bool:
        """Take an option and what belongs to it; whether the command has it."""
        name, attached, value = word.partition("=")
        if not word.startswith("--"):  # -n 50, -n50
            name, attached, value = word[:2], word[2:], word[2:].removeprefix("=")
        option = self._options.get(name)
        if option is None:
            return False
        if option.flag:
            if attached:
                self._complain(f"takes {name} without a value")
            self._values[option.dest] = True
            return True
        if not attached:
            if not self._words or self._words[0].startswith("--"):
                self._complain(f"needs a value after {name}, as in {name} {_shape(option)}")
            value = self._words.pop(0)
        if (
            not value and not option.may_be_empty
        ):  # a variable of the shell that is not set: what was meant is not the default
            self._complain(
                f"takes no empty value after {name}, but one as in {name} {_shape(option)}"
            )
        self._check(option, value, name)
        if option.repeat:
            self._values[option.dest].append(value)
        else:
            self._values[option.dest] = value
        return True

    def _place(self) -> list[Argument]:
        """Give the words without a name to the arguments that go by their place; returns those
        that are missing."""
        missing = []
        for argument in self._command.arguments:
            if argument.is_option:
                continue
            if argument.repeat:
                self._values[argument.dest], self._placed = self._placed, []
            elif self._placed:
                value = self._placed.pop(0)
                if not value and not argument.may_be_empty:
                    self._complain(f"takes no empty {argument.metavar}", _found_by(argument))
                self._check(argument, value, "")
                self._values[argument.dest] = value
            elif not argument.optional:
                missing.append(argument)
        return missing

    def _check(self, argument: Argument, value: str, name: str) -> None:
        if argument.choices and value not in argument.choices:
            after = f" after {name}" if name else ""
            *others, last = argument.choices
            taken = f"takes {', '.join(others)} or {last}{after}"
            words = f"{taken}, not '{text.fold(value, _SHOWN)}'"
            self._complain(words, argument.otherwise)

    def _refuse(self, words: list[str]) -> NoReturn:
        refused = text.fold(" ".join(word or "''" for word in words), 2 * _SHOWN)
        known = [one.names[-1] for one in self._command.arguments if one.is_option]
        option = words[0].partition("=")[0]
        hint = ""
        if option.startswith("-") and known:
            from podium.nearest import nearest

            near = nearest(option, known)
            taken = ", ".join(known) if len(known) <= _LISTED else ""
            hint = f"; the nearest is {near}" if near else f"; it takes {taken}" if taken else ""
        self._complain(f"does not take {refused}{hint}")

    def _complain(self, what: str, fix: str = "") -> NoReturn:
        name = name_of(self._command)
        todo = fix or f"see '{name} --help'"
        raise Failure(f"'{name}' {what}: {todo}.", USAGE)


def _wanted(argument: Argument) -> str:
    """Name what is missing, and what there is to choose from."""
    if not argument.choices:
        return argument.metavar
    *others, last = argument.choices
    name = "" if argument.metavar == "|".join(argument.choices) else argument.metavar
    said = f"{', '.join(others)} or {last}"
    return f"{name} ({said})" if name else said


def _shape(argument: Argument) -> str:
    return argument.metavar or "|".join(argument.choices)
