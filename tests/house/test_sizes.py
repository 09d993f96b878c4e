"""A file holds one idea and a function fits a screen or two."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.house.source import modules, name_of, text, tree

FILE_LINES = 600
FUNCTION_LINES = 64

# Where something begins at the margin; a file in which nothing is long from one to the next has no
# long function.
MARGIN = re.compile(r"^(?:@|(?:async )?def |class )", re.MULTILINE)

# Name -> why it may be longer. An entry that is no longer needed fails too.
LONG_FILES = {"client/podium/protocol.py": "generated: nobody reads it from end to end"}
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


def _may_be_long(code: str) -> bool:
    """Whether it need be parsed: code within a string begins nothing, so it is no margin here."""
    begins = [0]
    begins += [
        code.count("\n", 0, found.start())
        for found in MARGIN.finditer(code)
        if not any(code.count(quotes, 0, found.start()) % 2 for quotes in ('"""', "'''"))
    ]
    begins.append(code.count("\n"))
    return any(end - begin > FUNCTION_LINES for begin, end in pairwise(begins))


def test_no_file_is_long_without_a_stated_reason() -> None:
    lengths = {name_of(path): path.read_bytes().count(b"\n") for path in modules()}
    long = {name: lines for name, lines in lengths.items() if lines > FILE_LINES}

    assert long.keys() == LONG_FILES.keys(), f"over {FILE_LINES} lines: {long}"


def test_no_function_is_long_without_a_stated_reason() -> None:
    long = {
        name: lines
        for path in modules()
        if _may_be_long(text(path))
        for name, lines in _functions(tree(path), name_of(path))
        if lines > FUNCTION_LINES
    }

    assert long.keys() == LONG_FUNCTIONS.keys(), f"over {FUNCTION_LINES} lines: {long}"
