"""Every rule of the phone protocol has a test that bears its number, and no test another."""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.house.source import ROOT, modules, tree

RULE = re.compile(r"\bP-[0-9]+\.[0-9]+\b")


def _defined() -> Counter[str]:
    page = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    return Counter(RULE.findall(page))


ROW = re.compile(r"P-[0-9]+\.[0-9]+(, P-[0-9]+\.[0-9]+)*")


def _tested() -> set[str]:
    """The numbers in the docstrings of tests, and at the head of the rows of their tables."""
    rows = {
        number
        for path in modules("tests")
        if path.name.startswith("test_") and RULE.search(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if ROW.fullmatch(node.value)
        for number in RULE.findall(node.value)
    }
    return rows | {
        number
        for path in modules("tests")
        if RULE.search(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        for number in RULE.findall(ast.get_docstring(node) or "")
    }


def test_a_rule_stands_once_and_speaks_of_no_other() -> None:
    defined = _defined()

    assert len(defined) > 100
    assert {number for number, times in defined.items() if times > 1} == set()


def test_the_rules_of_a_section_are_numbered_one_after_the_other() -> None:
    found: dict[int, list[int]] = {}
    for number in _defined():
        section, rule = number.removeprefix("P-").split(".")
        found.setdefault(int(section), []).append(int(rule))

    assert list(found) == list(range(1, len(found) + 1))
    assert {s: rules for s, rules in found.items() if rules != list(range(1, len(rules) + 1))} == {}


def test_every_rule_has_a_test_and_every_number_a_rule() -> None:
    defined, tested = set(_defined()), _tested()

    assert defined - tested == set()
    assert tested - defined == set()
