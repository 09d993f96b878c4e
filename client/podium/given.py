"""Read what a person gives with a command: texts, parameters, paths, and whether there is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TypeVar, cast

from podium import text
from podium.errors import USAGE, Failure

P = TypeVar("P", bound=Mapping[str, object])


def present(params: P) -> P:
    """Return parameters of a method without those that are not given: none, empty, or false."""
    return cast("P", {name: value for name, value in params.items() if value})


def at_terminal() -> bool:
    """Return whether a person is there to be asked: both ends are a terminal."""
    return text.is_terminal(sys.stdin) and text.is_terminal(sys.stdout)


def whole_path(file: str) -> str:
    """Return the absolute path of a file, for a daemon in another directory."""
    return os.path.abspath(os.path.expanduser(file))


def given_text(words: str) -> str:
    """Return the text of an argument, or read all of standard input for ``-``.

    Raises:
        Failure: it is not UTF-8, or empty.
    """
    said = utf8_text(words)
    if not said.strip():
        raise Failure("The text is empty: give one, or '-' to read it from standard input.", USAGE)
    return said


def utf8_text(words: str) -> str:
    """Return the text as ``given_text`` does, but accept an empty one."""
    try:
        said = sys.stdin.buffer.read().decode("utf-8") if words == "-" else words
        said.encode("utf-8")  # an argument with bad bytes holds lone surrogates
    except UnicodeError as error:
        raise Failure("The text is not valid UTF-8: convert it first.", USAGE) from error
    return said


def parse_params(pairs: list[str], option: str = "-p ") -> dict[str, str]:
    """Parameters given as NAME=VALUE after ``option``; the daemon knows their types.

    Raises:
        Failure: one lacks the equals sign or the name, or comes twice.
    """
    params: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise Failure(f"'{option}{pair}' is no parameter: write {option}NAME=VALUE.", USAGE)
        plain = name.translate({ord(one): "x" for one in "_.-"})
        if not (plain.isascii() and plain.isalnum()):
            words = "its name is letters, digits, '-', '_' and '.'"
            raise Failure(f"'{option}{pair}' is no parameter: {words}.", USAGE)
        if name in params:
            raise Failure(f"Parameter '{name}' is given twice: give it once.", USAGE)
        params[name] = value
    return params
