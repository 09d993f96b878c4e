"""Every rule of the phone protocol has a test that bears its number, and no test another."""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.house.source import ROOT, modules, tree

RULE = re.compile(r"\bP-[0-9]+\.[0-9]+\b")

# Rules of the connection, whose tests are still to come. An entry that has its test fails too.
AWAITED: frozenset[str] = frozenset(
    {
        "P-1.2",
        "P-1.3",
        "P-1.4",
        "P-1.19",
        "P-1.20",
        "P-2.1",
        "P-2.3",
        "P-2.6",
        "P-2.8",
        "P-2.9",
        "P-2.11",
        "P-4.9",
        "P-4.10",
        "P-4.11",
        "P-4.12",
        "P-6.13",
        "P-6.14",
        "P-6.15",
        "P-6.16",
        "P-9.4",
        "P-9.5",
        "P-9.6",
        "P-9.7",
        "P-9.10",
        "P-9.11",
        "P-9.12",
        "P-9.13",
        "P-11.6",
        "P-11.11",
        "P-11.13",
        "P-11.14",
        "P-12.2",
        "P-12.5",
        "P-13.9",
        "P-13.10",
        "P-13.11",
    }
)


def _defined() -> Counter[str]:
    page = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    return Counter(RULE.findall(page))


def _tested() -> set[str]:
    """The numbers in the docstrings of tests."""
    return {
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

    assert defined - tested - AWAITED == set()
    assert tested - defined == set()
    assert AWAITED & tested == set()
    assert AWAITED - defined == set()
