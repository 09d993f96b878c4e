"""How commands are shown: a tree of short labels, each command under an id of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from podiumd.projects.menu import Command, Ids, general_commands, tree, words_of


def shown(*names: str) -> Any:
    ids = Ids()
    commands = [
        (words_of(name), Command(id=ids.give(name.replace("-", "."), f"make:{name}"),
                                 label=name, argv=("make", name)))
        for name in names
    ]  # fmt: skip
    return msgspec.json.decode(msgspec.json.encode(tree(commands, ids)))


def brief(items: Any) -> Any:
    return [
        (one["label"], one["id"], brief(one["children"])) if "children" in one
        else (one["label"], one["id"])
        for one in items
    ]  # fmt: skip


def test_an_item_has_the_fields_of_the_phone_protocol_and_no_empty_ones() -> None:
    assert shown("docker-up", "docker-down", "build") == [
        {
            "id": "docker", "label": "Docker", "type": "group",
            "children": [
                {"id": "docker.up", "label": "Up", "type": "command"},
                {"id": "docker.down", "label": "Down", "type": "command"},
            ],
        },
        {"id": "build", "label": "Build", "type": "command"},
    ]  # fmt: skip


def test_a_target_that_is_called_as_its_group_is_the_first_child() -> None:
    assert brief(shown("test-unit", "test")) == [
        ("Test", "group:test", [("Test", "test"), ("Unit", "test.unit")])
    ]


def test_a_group_of_one_is_written_as_one_label() -> None:
    assert brief(shown("docker-compose-up")) == [("Docker Compose Up", "docker.compose.up")]
    assert brief(shown("docker-compose-up", "docker-compose-down")) == [
        (
            "Docker Compose",
            "docker.compose",
            [("Up", "docker.compose.up"), ("Down", "docker.compose.down")],
        )
    ]


def test_ids_that_would_be_the_same_are_told_apart() -> None:
    assert brief(shown("a-b", "a.b", "git-status", "a-c")) == [
        ("A", "a", [("B", "a.b"), ("C", "a.c")]),
        ("A.b", "make:a.b"),
        ("Git Status", "make:git-status"),
    ]


def test_a_tree_is_at_most_four_deep() -> None:
    (a,) = shown(*(f"a-b-c-d{n}-e-f" for n in range(2)), "a-x", "a-b-y", "a-b-c-z")
    deepest = a["children"][0]["children"][0]["children"]
    assert [one["label"] for one in deepest] == ["D0 E F", "D1 E F", "Z"]


def test_general_commands_are_offered_where_their_program_is() -> None:
    assert [one.id for one in general_commands([])] == []
    assert [one.id for one in general_commands(["git"])] == [
        "git.status", "git.push", "git.worktree.list",
    ]  # fmt: skip
    both = general_commands(["git", "bd"])
    assert {one.id: one.shell_command for one in both}["git.worktree.list"] == "git worktree list"
    assert [one.argv for one in both][-2:] == [("bd", "ready"), ("bd", "list")]
