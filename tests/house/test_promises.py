"""The page of promises is true: each test that it names is there, each document has its rows."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.house.source import ROOT, text
from tests.house.test_long import LONG

PAGE = ROOT / "docs/promises.md"
SECTION = re.compile(r"^### \[(?P<title>.+)\]\((?P<link>[^)]+)\)$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
APART = ("tests/browser", "tests/user_manager", "tests/web")
"""Folders of tests that have a target of their own."""


@cache
def _held() -> list[tuple[str, str]]:
    """Each row that a test holds: what is promised, and the tests."""
    tables = text(PAGE).partition("\n## Not held by a test\n")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", tables, re.MULTILINE)
    return [row for row in rows if row not in {("promise", "held by"), ("---", "---")}]


def _anchors(document: Path) -> set[str]:
    """What a link to a heading of it may say after the ``#``; as code hosts make it."""
    headings = HEADING.findall(text(document))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_each_promise_names_a_test_and_each_test_is_there() -> None:
    gone = {
        f"{file}::{name}"
        for _, tests in _held()
        for file, name in TEST.findall(tests)
        if not (ROOT / file).is_file()
        or not re.search(rf"^(async )?def {name}\(", text(ROOT / file), re.MULTILINE)
    }

    assert [promise for promise, tests in _held() if not TEST.search(tests)] == []
    assert gone == set()
    places = set(re.findall(r"`(tests/[\w/.]+)", text(PAGE)))
    assert {place for place in places if not (ROOT / place).exists()} == set()


def _is_left_out(file: str, name: str) -> bool:
    """Whether 'make test' leaves the test out: with its file or folder, or by its mark."""
    makefile = text(ROOT / "Makefile")
    main = makefile.partition("MAIN_PATHS := ")[2].partition("\n")[0].split()
    long = makefile.partition("LONG_TESTS := ")[2].partition("\n#")[0]
    whole = re.findall(r"tests/[\w/]+(?:\.py)?(?![\w/%.*])", long)
    if file.startswith("tests/e2e/"):
        return file.removeprefix("tests/e2e/test_").removesuffix(".py") not in main
    marked = rf"^@{re.escape(LONG)}\((?:.(?!^def |^async def ))*^(?:async )?def {name}\("
    return any(file.startswith(one) for one in [*whole, *APART]) or (
        re.search(marked, text(ROOT / file), re.MULTILINE | re.DOTALL) is not None
    )


def test_a_promise_that_only_long_tests_hold_is_marked_so() -> None:
    wrong = [
        promise
        for promise, tests in _held()
        if all(_is_left_out(*test) for test in TEST.findall(tests)) != promise.endswith("*(long)*")
    ]

    assert wrong == []


def test_each_section_is_there_and_each_document_has_one() -> None:
    links = [match["link"].partition("#") for match in SECTION.finditer(text(PAGE))]
    sections = [((PAGE.parent / file).resolve(), anchor) for file, _, anchor in links]
    documents = {*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "ARCHITECTURE.md"}

    assert {file for file, _ in sections} == documents - {PAGE}
    assert [(file, at) for file, at in sections if at and at not in _anchors(file)] == []


def test_each_rule_of_the_architecture_has_a_row() -> None:
    _, _, rules = text(ROOT / "ARCHITECTURE.md").partition("| rule | held by |\n")
    _, _, rows = text(PAGE).partition("#rules-that-everything-relies-on)\n")
    wanted, there = (
        len(re.findall(r"^\| ", part.partition("\n#")[0], re.MULTILINE)) for part in (rules, rows)
    )

    assert wanted <= there
