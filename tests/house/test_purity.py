"""What the import contracts cannot see: calls that make the core or the client impure.

The contracts in pyproject.toml forbid whole modules. Builtins and single functions of harmless
modules are found here.
"""

import ast
import sys
from pathlib import Path

import pytest

from tests.house.source import modules, name_of, tree

INPUT_AND_OUTPUT = {"open", "print", "input", "eval", "exec", "breakpoint", "__import__"}
CLOCK_AND_CHANCE = {"now", "utcnow", "today", "uuid1", "uuid4", "getnode"}
CONCRETE_PATHS = {"Path", "PosixPath", "WindowsPath"}


def impurities(module: ast.Module) -> list[str]:
    """Each impure name the module calls or imports, with its line."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in INPUT_AND_OUTPUT:
                found.append(f"line {node.lineno}: {called.id}()")
            if isinstance(called, ast.Attribute) and called.attr in CLOCK_AND_CHANCE:
                found.append(f"line {node.lineno}: .{called.attr}()")
        if isinstance(node, ast.ImportFrom) and node.module in {"pathlib", "uuid", "datetime"}:
            found.extend(
                f"line {node.lineno}: from {node.module} import {alias.name}"
                for alias in node.names
                if alias.name in CONCRETE_PATHS | CLOCK_AND_CHANCE
            )
    return found


@pytest.mark.parametrize(
    "code",
    [
        "print('done')",
        "open('facts')",
        "datetime.now(UTC)",
        "uuid.uuid4()",
        "from uuid import uuid4",
        "from pathlib import Path",
    ],
)
def test_an_impure_line_is_recognised(code: str) -> None:
    assert len(impurities(ast.parse(code))) == 1


def test_core_formats_and_wire_call_nothing_that_reads_or_writes_the_world() -> None:
    pure = modules("daemon/podiumd/core", "daemon/podiumd/formats", "daemon/podiumd/wire")
    found = {name_of(path): impurities(tree(path)) for path in pure}

    assert len(pure) > 2
    assert {name: lines for name, lines in found.items() if lines} == {}


def _imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add(node.module or ".")
    return {name.partition(".")[0] for name in names}


# Module -> what it needs beyond the standard library. Nothing but the command that it is for
# imports it: `podium runs export`, and whatever shows an agent's words.
FOREIGN = {
    "client/podium/export/markdown.py": {"markdown_it"},
    "client/podium/render/markdown.py": {"markdown_it", "rich"},
}


def test_the_client_imports_only_itself_and_the_standard_library() -> None:
    allowed = sys.stdlib_module_names | {"podium"}
    foreign = {name_of(path): _imported(path) - allowed for path in modules("client")}

    assert {name: found for name, found in foreign.items() if found} == FOREIGN
