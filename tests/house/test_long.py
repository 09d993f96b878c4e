"""A test that 'make test' leaves out names one that stays and shows the same."""

from __future__ import annotations

import ast
import re

from tests.house.source import ROOT, modules, name_of, naming, text, tree

LONG = "pytest.mark.long"


TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


def _tests() -> dict[str, list[ast.expr]]:
    """Every test, as pytest names it, with what it is decorated with where one is long."""
    tests: dict[str, list[ast.expr]] = {
        f"{name_of(path)}::{name}": []
        for path in modules("tests")
        if path.name.startswith("test_")
        for name in TEST.findall(text(path))
    }
    return tests | {
        f"{name_of(path)}::{node.name}": node.decorator_list
        for path in naming([LONG], "tests")
        if path.name.startswith("test_")
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def _named(marks: list[ast.expr]) -> list[str]:
    """What the marks of one test name: "" where one names nothing."""
    calls = [mark for mark in marks if isinstance(mark, ast.Call)]
    bare = [mark for mark in marks if ast.unparse(mark) == LONG]
    named = [
        str(arg.value) if isinstance(arg, ast.Constant) else ""
        for call in calls
        if ast.unparse(call.func) == LONG
        for arg in call.args or [ast.Constant("")]
    ]
    return named + [""] * len(bare)


def test_a_long_test_names_one_that_is_there_and_is_not_long_itself() -> None:
    tests = _tests()
    named = {
        test: other if "::" in other else f"{test.partition('::')[0]}::{other}"
        for test, marks in tests.items()
        for other in _named(marks)
    }

    assert named, "the mark is called otherwise by now"
    assert {test: other for test, other in named.items() if other not in tests} == {}
    assert named.keys() & set(named.values()) == set()


def test_what_a_long_test_names_is_none_that_make_test_leaves_out_with_its_file() -> None:
    tests = _tests()
    makefile = (ROOT / "Makefile").read_text()
    _, _, whole = makefile.partition("LONG_TESTS := ")
    whole, _, _ = whole.partition("\n#")
    main = makefile.partition("MAIN_PATHS := ")[2].partition("LONG_TESTS")[0].split()
    for marks in tests.values():
        for other in _named(marks):
            file, _, _ = other.rpartition("::")
            assert not file or file not in whole.split()
            if file.startswith("tests/e2e/test_"):
                assert file.removeprefix("tests/e2e/test_").removesuffix(".py") in main
