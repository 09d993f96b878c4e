"""Docstrings begin as a reader looks things up: with a verb, or the thing itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.source import modules, name_of, tree

NO_NOUN = {"what", "whether", "of", "who", "whoever", "how", "where", "when", "whom", "whose"}
"""The docstring of a class or a module may begin with its noun, but with none of these."""

NO_VERB = NO_NOUN | {"the", "a", "an", "all", "it", "one", "as", "everything", "those", "each"}
NO_VERB |= {"every", "no", "nothing", "which", "why", "its", "something", "this", "that", "nobody"}
"""That of a function begins with an imperative verb, and so with none of these."""


def docstrings(module: ast.Module) -> Iterator[tuple[str, str, bool]]:
    """Yield the name and docstring of each definition, and whether it is a function."""
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if words := ast.get_docstring(node):
                yield getattr(node, "name", "the module"), words, is_function


def badly_begun(module: ast.Module) -> list[str]:
    """List the docstrings of a module that begin with a word they should not."""
    return [
        f"{name}: {words.splitlines()[0]}"
        for name, words, is_function in docstrings(module)
        if words.split(maxsplit=1)[0].strip("`.,:").lower() in (NO_VERB if is_function else NO_NOUN)
    ]


def test_docstrings_begin_with_a_verb_or_with_the_thing() -> None:
    found = {
        name_of(path): badly
        for path in modules("daemon", "client")
        if (badly := badly_begun(tree(path)))
    }

    assert found == {}


def test_what_begins_otherwise_is_found() -> None:
    code = (
        '"""What it is."""\n'
        'def size():\n    """The size in bytes."""\n'
        'def read():\n    """Read it."""\n'
        'class Size:\n    """A size in bytes."""\n'
    )

    assert badly_begun(ast.parse(code)) == [
        "the module: What it is.",
        "size: The size in bytes.",
    ]
