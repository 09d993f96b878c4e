"""Terms that are heard right and written otherwise."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.voice import language as spoken_language_module
from podiumd.speech.words import languages as module
from podiumd.speech.words.languages import (
    code_of,
    languages_read,
    spoken_language,
    spoken_languages,
)
from podiumd.speech.words.spelling import spell
from podiumd.speech.words.terms import (
    MANIFESTS,
    MOST_CHARACTERS,
    choose,
    dependencies,
    identifiers,
    of_branch,
    of_files,
)
from podiumd.wire.voice import TermSource

PYPROJECT = """
[project]
dependencies = ["trio>=0.30", "msgspec", "python-multipart >= 1 ; x"]
[project.optional-dependencies]
voice = ["faster-whisper==1.2.1"]
[dependency-groups]
dev = ["pytest-trio", {include-group = "x"}]
[tool.poetry.dependencies]
python = "^3.11"
httpx2 = "1"
"""

PACKAGE = """{
  "dependencies": {"react": "1", "@types/node": "2"},
  "devDependencies": {"vite": "1"}
}"""

GO_MOD = """
module example.org/me/app
require github.com/spf13/cobra v1.8.0
require (
\tgithub.com/jackc/pgx/v5 v5.5.0 // indirect
\tgolang.org/x/sync v0.6.0
)
"""

CARGO = """
[dependencies]
tokio = "1"
[dev-dependencies]
proptest = "1"
[workspace.dependencies]
serde_json = "1"
"""


@pytest.mark.parametrize(
    ("manifest", "text", "names"),
    [
        (
            "pyproject.toml",
            PYPROJECT,
            ["trio", "msgspec", "python-multipart", "faster-whisper", "pytest-trio", "httpx2"],
        ),
        ("requirements.txt", "# x\nflask==1\n-r other\n\n  uvloop\n", ["flask", "uvloop"]),
        (
            "package.json",
            PACKAGE,
            ["react", "node", "vite"],
        ),
        ("go.mod", GO_MOD, ["cobra", "pgx", "sync"]),
        ("Cargo.toml", CARGO, ["tokio", "proptest", "serde_json"]),
    ],
)
def test_dependencies_are_named(manifest: str, text: str, names: list[str]) -> None:
    assert dependencies(manifest, text) == names


@pytest.mark.parametrize("manifest", MANIFESTS)
@pytest.mark.parametrize(
    "text", ["", "][", '{"dependencies": 3}', "project = 3", "[" * 5000, '["x"]', "dependencies=3"]
)
def test_a_manifest_that_cannot_be_read_names_nothing_or_little(manifest: str, text: str) -> None:
    assert len(dependencies(manifest, text)) <= 1


@given(st.text(max_size=200), st.sampled_from(sorted(MANIFESTS)))
def test_any_text_can_stand_in_a_manifest(text: str, manifest: str) -> None:
    assert isinstance(dependencies(manifest, text), list)


def test_a_branch_is_called_by_its_last_part() -> None:
    assert of_branch("feature/session-lock\n") == ["session-lock"]
    assert of_branch("main") == []
    assert of_branch("") == [""]


def test_files_are_called_as_people_call_them() -> None:
    paths = ["src/gateway.py", "a/session_lock.py", "b/session_lock.py", "docs/", "x/__init__.py"]
    assert of_files(paths) == ["gateway.py", "session_lock", "docs"]
    assert of_files(["web/UserCard.tsx", "Makefile", ".gitignore"]) == ["UserCard", "Makefile"]


def test_names_come_from_the_changed_lines_of_a_diff() -> None:
    diff = """+++ b/not_this_one.py
@@ -1 +1 @@ def nor_this
+    self.session_lock = parseConfig(session_lock)
-    value = __dunder__ + sha256
 context_line
"""
    assert identifiers(diff) == ["session_lock", "parseConfig", "sha256"]


def test_a_few_of_each_come_before_many_of_one() -> None:
    found: dict[TermSource, list[str]] = {
        "file": [f"file{number}.py" for number in range(30)],
        "branch": ["session-lock"],
        "recipe": ["implement-and-review"],
        "dependency": ["trio", "msgspec"],
        "identifier": [],
    }
    terms = choose(found, "uses msgspec", most=12)
    names = [one.term for one in terms]

    assert names[:2] == ["session-lock", "file0.py"]
    assert {"implement-and-review", "trio", "msgspec"} <= set(names)
    assert names.index("msgspec") < names.index("trio")
    assert len(terms) == 12


def test_no_term_is_longer_stranger_or_more_frequent_than_it_may_be() -> None:
    found: dict[TermSource, list[str]] = {
        "file": ["x" * 41, "a", "12345", "deadbeef99", "tab\there", "bidi\u202e", "Same", "same"]
    }
    assert [one.term for one in choose(found)] == ["Same"]


def test_all_terms_fit_the_recognisers_slot() -> None:
    found: dict[TermSource, list[str]] = {"file": [f"{'long' * 9}{number}" for number in range(30)]}
    terms = choose(found)
    assert sum(len(one.term) + 2 for one in terms) <= MOST_CHARACTERS
    assert len(terms) > 8


# -- terms that are heard right and written otherwise ----------------------------------------


TERMS = (
    "phone_link",
    "review-and-commit",
    "fact_log.py",
    "log.py",
    "README.md",
    "recipe",
    "next_step",
)


@pytest.mark.parametrize(
    ("heard", "spelt"),
    [
        ("Rename phone-link.", "Rename phone_link."),
        ("Phone-Link, please", "phone_link, please"),
        ("fact.log.py or fact log.py", "fact_log.py or fact_log.py"),
        ("open readme.md and log.py", "open README.md and log.py"),
        ("the session-phone-link-thing", "the session-phone_link-thing"),
        ("run review_and_commit", "run review-and-commit"),
        ("what is the next step?", "what is the next step?"),
        ("review and commit it", "review and commit it"),
        ("a phone. Link it", "a phone. Link it"),
        ("microphone-link and phone-links", "microphone-link and phone-links"),
        ("my Recipe", "my Recipe"),
        ("", ""),
    ],
)
def test_only_the_joints_of_a_term_are_mended(heard: str, spelt: str) -> None:
    assert spell(heard, TERMS) == spelt


@given(st.text(), st.lists(st.text(max_size=12), max_size=5))
def test_words_stay_as_they_are(text: str, terms: list[str]) -> None:
    def words(of: str) -> str:
        return "".join(one for one in of.casefold() if one.isalnum())

    assert words(spell(text, terms)) == words(text)


def test_without_terms_nothing_changes() -> None:
    assert spell("phone-link", ()) == "phone-link"


# -- tags of languages as phones send them ---------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("en", "en"),
        ("en-US", "en"),
        ("DE_at", "de"),
        ("zh-Hant-TW", "zh"),
        ("haw", "haw"),
        ("tlh", None),
        ("english", None),
        ("", None),
        (None, None),
    ],
)
def test_a_tag_is_the_code_of_a_language_that_models_know(
    tag: str | None, code: str | None
) -> None:
    assert code_of(tag) == code


# -- the languages of spoken commands that ship with Podium ----------------------------------


@pytest.fixture
def unread() -> Iterator[None]:
    """No language has been read yet, and what a test has read is forgotten."""
    spoken_languages.cache_clear()
    yield
    spoken_languages.cache_clear()


def test_the_tag_of_a_region_finds_its_language() -> None:
    assert spoken_language("de-AT") is spoken_languages()["de"]


@pytest.mark.parametrize("tag", ["", "xx", "auto", "english"])
def test_a_language_without_words_has_no_commands(tag: str) -> None:
    assert spoken_language(tag) is None


@pytest.mark.usefixtures("unread")
async def test_the_files_are_read_once_and_not_by_the_thread_of_all_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readers = []
    read = spoken_language_module.read_language

    def noted(data: Any) -> Any:
        readers.append(threading.current_thread())
        return read(data)

    monkeypatch.setattr(module, "read_language", noted)
    for _ in range(2):
        await languages_read()
    assert len(readers) == len(spoken_languages())
    assert threading.current_thread() not in readers


@pytest.mark.usefixtures("unread")
def test_a_file_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(data: Any) -> Any:
        raise ValueError("words: 'go on' stands in both retry and go_on")

    monkeypatch.setattr(module, "read_language", refuse)
    with pytest.raises(ValueError, match=r"^[a-z]{2}\.toml: words: 'go on' stands in both"):
        spoken_languages()
