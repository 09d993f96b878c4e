"""Scripts of package.json and recipes of a justfile, from their text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects.makefile import Target
from podiumd.projects.scripts import just_recipes, package_scripts


def recipes(text: str, **files: str) -> list[str]:
    found = just_recipes(text, lambda name: [files[name]] if name in files else [])
    return [one.name for one in found]


def test_scripts_come_in_order_with_their_command_as_description() -> None:
    text = json.dumps({"scripts": {"build": "vite  build\n --x", "test:unit": "vitest"}})
    assert package_scripts(text, []) == (
        "npm",
        [Target("build", "vite build --x"), Target("test:unit", "vitest")],
    )


@pytest.mark.parametrize(
    ("beside", "field", "manager"),
    [
        (["yarn.lock"], None, "yarn"),
        (["pnpm-lock.yaml"], None, "pnpm"),
        (["bun.lockb"], None, "bun"),
        (["package-lock.json"], "yarn@4", "npm"),
        ([], "pnpm@9.1.0+sha", "pnpm"),
        ([], "evil; rm", "npm"),
        ([], 7, "npm"),
        ([], None, "npm"),
    ],
)
def test_the_lock_file_names_the_manager(beside: list[str], field: object, manager: str) -> None:
    assert package_scripts(json.dumps({"packageManager": field}), beside)[0] == manager


def test_hooks_options_and_invisible_names_are_no_scripts() -> None:
    scripts = {
        "build": "a", "prebuild": "b", "postbuild": "c", "prepare": "d", "-x": "e", "": "f",
        "a\nb": "g", "a\u202eb": "h", "n": 5, "x" * 201: "i", "with blank": "j",
    }  # fmt: skip
    found = package_scripts(json.dumps({"scripts": scripts}), [])[1]
    assert [one.name for one in found] == ["build", "prepare", "with blank"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"scripts": []}', '{"scripts": null}', "[" * 100_000, "1" * 5000],
)
def test_what_is_no_package_has_no_scripts(text: str) -> None:
    assert package_scripts(text, []) == ("npm", [])


def test_recipes_are_found_with_the_comment_above() -> None:
    text = (
        "set shell := ['bash']\nversion := '1'\nexport A := 'b'\nalias t := test\n\n# Build it\n"
        "build: clean\n    echo no: recipe\n\n[linux]\n@test:\n  x\n# Tidy\n[group('x')]\nclean:\n"
    )
    found = just_recipes(text, lambda _: [])
    assert [(one.name, one.description) for one in found] == [
        ("build", "Build it"), ("test", None), ("clean", "Tidy"),
    ]  # fmt: skip


def test_recipes_that_need_an_argument_or_are_private_are_left_out() -> None:
    text = (
        "a name:\nb name='x:y':\nc *rest:\nd +all:\ne x y='1':\nf x='1' *z: a\n_g:\n"
        '[private]\nh:\n[private, no-cd]\ni:\nj x="a b" : k\nk x=`date`:\n'
    )
    assert recipes(text) == ["b", "c", "f", "j", "k"]


def test_imported_files_count_and_modules_do_not() -> None:
    text = "import 'a.just'\nimport? \"b.just\"\nimport 'missing'\nmod docs\nmod? x 'y'\nz:\n"
    assert recipes(text, **{"a.just": "one:\nz:\n", "b.just": "two:\n"}) == ["one", "z", "two"]


@given(st.text(alphabet="ab:='\"`*+ \n\t#[]@-", max_size=200))
def test_any_justfile_gives_names_that_are_no_options(text: str) -> None:
    for name in recipes(text):
        assert name[0].isalpha() and name.isascii()
