"""The recordings as files: ``python -m tests.recorded.record`` plays the world and writes them.

A recording is what one release says; the next one says the same. Read what changed in review.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from podium.cli.dispatch import find
from podium.errors import Failure
from tests.recorded.asked import ask
from tests.recorded.connection import Json
from tests.recorded.placeholders import Placeholders
from tests.recorded.scenario import play
from tests.recorded.typed import Typed, type_all
from tests.recorded.world import World, world

HERE: Final = Path(__file__).parent

Files = dict[str, str]
"""The texts of recordings by their paths below this folder."""


def methods_and_events() -> Files:
    """Play the world; returns its recordings."""
    with world() as made:
        ask(made, play(made))
        return {**_methods(made), **_events(made)}


def commands() -> Files:
    """Play the world and type every command in it; returns its recordings."""
    with world() as made:
        typed = type_all(made, play(made))
        return _typed(made, typed)


def _typed(made: World, typed: Sequence[Typed]) -> Files:
    by_command: dict[str, list[Typed]] = {}
    for one in typed:
        try:
            command, _ = find(list(one.words))
        except Failure:
            by_command.setdefault("podium", []).append(one)
        else:
            by_command.setdefault("-".join(command.path), []).append(one)
    return {
        f"cli/{name}.txt": "\n".join(_shown(made.names.recording(), one) for one in same)
        for name, same in by_command.items()
    }


def _shown(placeholders: Placeholders, one: Typed) -> str:
    """As a person reads it, JSON set out; what came on standard error stands behind '! '."""
    command = placeholders.shown(f"$ podium {shlex.join(one.words)}\n")
    lines = [_set_out(placeholders, one.words, line) for line in one.shown.splitlines()]
    errors = [f"! {line}".rstrip() for line in placeholders.shown(one.errors).splitlines()]
    # A run that took no half millisecond has no line of its work.
    lines = [line for line in lines if line != "work  <duration>"]
    whole = (*lines, *errors, f"[exit code {one.code}]")
    if one.words[0] == "locks" and "--json" not in one.words:  # in no order
        whole = (lines[0], *sorted(lines[1:]), *errors, whole[-1])
    return command + "".join(f"{line}\n" for line in whole)


def _set_out(placeholders: Placeholders, words: Sequence[str], line: str) -> str:
    if line.startswith(("{", "[")):
        value = placeholders.value(json.loads(line))
        if words[0] == "locks":  # in no order
            value.sort(key=json.dumps)
        return json.dumps(value, indent=1, ensure_ascii=False)
    return placeholders.shown(line).rstrip()


def _methods(made: World) -> Files:
    return {
        f"methods/{method}.json": _text(made.names.recording().value(answers))
        for method, answers in made.answers.items()
    }


def _events(made: World) -> Files:
    first: dict[str, Json] = {}
    for event in made.events:
        first.setdefault(event["type"], event)
    for notice in made.notices:
        if notice["method"] != "event":
            first.setdefault(notice["method"], notice)
    return {
        f"events/{kind}.json": _text(made.names.recording().value(event))
        for kind, event in first.items()
    }


def _text(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def write(files: Mapping[str, str]) -> None:
    """Write recordings anew, and remove those that are no longer made."""
    for folder in {path.partition("/")[0] for path in files}:
        for old in (HERE / folder).iterdir():
            old.unlink()
    for path, text in files.items():
        (HERE / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(methods_and_events() | commands())
