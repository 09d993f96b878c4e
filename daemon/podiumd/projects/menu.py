"""The commands that a directory offers, as a person sees them and as they are run. Pure.

An id is only a key of a table that holds argument lists; it is never taken apart again.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

_DEEPEST = 4


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command, or a group of them, in the form of the phone protocol."""

    id: str
    label: str
    type: Literal["command", "group"]
    description: str | None = None
    children: tuple[Item, ...] = ()


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """The command behind an id: ``argv`` is run as it is, without a shell."""

    id: str
    label: str
    argv: tuple[str, ...]
    description: str | None = None

    @property
    def shell_command(self) -> str:
        """Return the command as a person would type it."""
        return shlex.join(self.argv)

    def item(self, label: str | None = None) -> Item:
        return Item(
            id=self.id,
            label=self.label if label is None else label,
            type="command",
            description=self.description,
        )


class Offered(msgspec.Struct, frozen=True):
    """The offer of one directory: two lists to show, and the table behind their ids."""

    project: tuple[Item, ...]
    general: tuple[Item, ...]
    table: Mapping[str, Command]


_GENERAL = (
    ("git.status", "Git Status", "git status", "What has changed in the working tree"),
    ("git.push", "Git Push", "git push", "Send the commits to the remote repository"),
    ("git.worktree.list", "Git Worktrees", "git worktree list", "The worktrees of the repository"),
    ("bd.ready", "Beads Ready", "bd ready", "Issues that can be worked on"),
    ("bd.list", "Beads List", "bd list", "All issues"),
)


def general_commands(programs: Iterable[str]) -> list[Command]:
    """List the general commands whose program, git or bd, is in ``programs``."""
    there = frozenset(programs)
    return [
        Command(id=name, label=label, argv=tuple(words.split()), description=description)
        for name, label, words, description in _GENERAL
        if words.split()[0] in there
    ]


class Ids:
    """Gives each thing an id of its own."""

    def __init__(self) -> None:
        self._taken = {name for name, *_ in _GENERAL}

    def give(self, wanted: str, otherwise: str) -> str:
        """``wanted`` where it is free, else ``otherwise``, with a number where that is not."""
        chosen, number = wanted, 1
        while chosen in self._taken:
            chosen = otherwise if number == 1 else f"{otherwise}:{number}"
            number += 1
        self._taken.add(chosen)
        return chosen


def tree(commands: Sequence[tuple[Sequence[str], Command]], ids: Ids) -> tuple[Item, ...]:
    """Items in a tree by their words: ``docker up`` and ``docker down`` share the group Docker.

    A command that is called as a group is its first child; a group with one member is none, its
    words stand in one label.
    """
    return tuple(_level([(tuple(words), one) for words, one in commands], (), ids))


def _level(
    commands: Sequence[tuple[tuple[str, ...], Command]], above: tuple[str, ...], ids: Ids
) -> list[Item]:
    families: dict[str, list[tuple[tuple[str, ...], Command]]] = {}
    for words, command in commands:
        families.setdefault(words[0], []).append((words, command))
    items = []
    for first, members in families.items():
        words, command = members[0]
        if len(members) == 1:
            items.append(command.item(_label(words)))
            continue
        plain = [one.item(_label([first])) for words, one in members if len(words) == 1]
        deeper = [(words[1:], one) for words, one in members if len(words) > 1]
        path = (*above, first)
        children = [*plain, *_level(deeper, path, ids)]
        if len(children) == 1:
            (only,) = children
            items.append(msgspec.structs.replace(only, label=f"{_label([first])} {only.label}"))
        else:
            items.append(group(".".join(path), _label([first]), children, ids))
    return items


def group(id: str, label: str, children: Sequence[Item], ids: Ids) -> Item:
    """Build a group with its own id."""
    return Item(id=ids.give(id, f"group:{id}"), label=label, type="group", children=tuple(children))


def words_of(name: str) -> list[str]:
    """Split a target's name into words, at most four: ``docker-up`` has two."""
    words = [word for word in name.split("-") if word]
    return [*words[: _DEEPEST - 1], "-".join(words[_DEEPEST - 1 :])][: len(words)]


def _label(words: Sequence[str]) -> str:
    spoken = " ".join(words).replace("-", " ").replace("_", " ").split()
    return " ".join(word[:1].upper() + word[1:] for word in spoken)
