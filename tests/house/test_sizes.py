"""A file holds one idea and a function fits a screen or two."""

import ast
from collections.abc import Iterator

from tests.house.source import modules, name_of, tree

FILE_LINES = 600
FUNCTION_LINES = 80

# Name -> why it may be longer. An entry that is no longer needed fails too.
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}


def _functions(node: ast.AST, owner: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # holds no function with a name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{owner}.{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, (child.end_lineno or child.lineno) - child.lineno + 1
            yield from _functions(child, name)
        else:
            yield from _functions(child, owner)


def test_no_file_is_long_without_a_stated_reason() -> None:
    lengths = {name_of(path): path.read_bytes().count(b"\n") for path in modules()}
    long = {name: lines for name, lines in lengths.items() if lines > FILE_LINES}

    assert long.keys() == LONG_FILES.keys(), f"over {FILE_LINES} lines: {long}"


def test_no_function_is_long_without_a_stated_reason() -> None:
    long = {
        name: lines
        for path in modules()
        for name, lines in _functions(tree(path), name_of(path))
        if lines > FUNCTION_LINES
    }

    assert long.keys() == LONG_FUNCTIONS.keys(), f"over {FUNCTION_LINES} lines: {long}"
