from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
