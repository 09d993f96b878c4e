"""The web client's source: what is vendored is what was published, no word is missing."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.web.vendor import PLACE, listed

PAGE = ROOT / "client/web"
SCRIPTS = sorted(path for path in PAGE.rglob("*.js") if path.parent != PLACE)
LANGUAGES = sorted((PAGE / "words").glob("*.js"))
FILES = listed()["files"]
WORD = re.compile(r"^  (\w+): ", re.MULTILINE)
USED = re.compile(r"\bwords\.(\w+)(?!\w)(?!\")")


@pytest.mark.parametrize("name", FILES)
def test_a_vendored_file_is_the_listed_one_byte_for_byte(name: str) -> None:
    assert hashlib.sha256((PLACE / name).read_bytes()).hexdigest() == FILES[name]["sha256"]


def test_everything_vendored_is_listed_with_its_licence() -> None:
    here = {path.name for path in PLACE.iterdir() if path.suffix in {".js", ".txt"}}
    assert here == set(FILES)
    packages = listed()["packages"].values()
    assert all(one["licence"] == "MIT" and one["version"] for one in packages)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda path: path.stem)
def test_a_language_has_every_word_and_no_other(language: Path) -> None:
    english = WORD.findall((PAGE / "words/en.js").read_text(encoding="utf-8"))
    assert WORD.findall(language.read_text(encoding="utf-8")) == english
    assert len(english) == len(set(english))


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda path: path.stem)
def test_a_sentence_has_the_same_gaps_in_every_language(language: Path) -> None:
    def gaps(path: Path) -> dict[str, set[str]]:
        lines = path.read_text(encoding="utf-8").splitlines()
        found = ((line.split(":")[0], set(re.findall(r"\{\w+\}", line))) for line in lines)
        return {name: names for name, names in found if names}

    assert gaps(language) == gaps(PAGE / "words/en.js")


def test_no_word_is_there_that_no_script_says() -> None:
    said = {name for path in SCRIPTS for name in USED.findall(path.read_text(encoding="utf-8"))}
    said |= {"live", "connecting", "reconnecting", "offline", "notPaired"}  # the states, by name
    assert said == set(WORD.findall((PAGE / "words/en.js").read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(PAGE).as_posix())
def test_a_script_makes_no_element_of_text_and_runs_none(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "new Function"):
        assert forbidden not in source
    assert "//" not in re.sub(r"(^|\s)//.*", "", source).replace("https://", "")
