"""The catalogue: what can be started, where it came from, and what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podiumd.core.exits import KNOWN, RESERVED
from podiumd.core.recipe_load import RecipeInvalid
from podiumd.runtime.catalogue import (
    MAX_BYTES,
    Catalogue,
    Entry,
    RecipeNotFound,
    builtin_directory,
    load_file,
)

RECIPE = """format = 1
id = "{id}"
label = "{label}"
initial = "go"
[steps.go]
{prompt}
on = {{ done = {{ exit = "changes-committed" }} }}
"""


def _write(directory: Path, id: str, label: str = "", prompt: str = 'prompt = "Go."') -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{id}.toml"
    path.write_text(RECIPE.format(id=id, label=label or id, prompt=prompt))
    return path


class Places:
    """A project, a user's and a built-in directory, and the catalogue over them."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.in_project = self.project / ".podium" / "recipes"
        self.user = root / "user"
        self.builtin = root / "builtin"
        self.catalogue = Catalogue(self.user, self.builtin)

    def list(self) -> list[Entry]:
        return self.catalogue.list(str(self.project))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def _one_fault(path: Path, within: Path | None = None) -> str:
    with pytest.raises(RecipeInvalid) as caught:
        load_file(path, within=within)
    (finding,) = caught.value.findings
    return finding.message


def test_missing_directories_hold_no_recipes(places: Places) -> None:
    assert places.list() == []


def test_a_project_shadows_the_user_and_the_user_the_built_in(places: Places) -> None:
    for directory in (places.builtin, places.user, places.in_project):
        _write(directory, "all", directory.name)
    _write(places.builtin, "two")
    _write(places.user, "two")
    _write(places.builtin, "one")
    found = [(e.id, e.source, e.shadows, e.trusted) for e in places.list()]
    assert found == [
        ("all", "project", ("user", "builtin"), False),
        ("one", "builtin", (), True),
        ("two", "user", ("builtin",), True),
    ]
    assert places.list()[0].label == "recipes"


@pytest.mark.parametrize("directory", [None, "project"])
def test_without_an_absolute_directory_no_project_is_looked_at(
    places: Places, directory: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(places.in_project, "mine")
    monkeypatch.chdir(places.project.parent)
    assert places.catalogue.list(directory) == []


def test_a_broken_file_is_listed_and_stops_no_other(places: Places) -> None:
    _write(places.builtin, "good")
    (places.builtin / "bad.toml").write_text("format = ")
    bad, good = places.list()
    assert (bad.id, bad.recipe, bad.findings[0].code) == ("bad", None, "syntax")
    assert bad.findings[0].file == str(places.builtin / "bad.toml")
    assert good.recipe is not None


def test_a_broken_recipe_still_shadows_under_its_own_id(places: Places) -> None:
    _write(places.builtin, "work")
    path = _write(places.user, "work").rename(places.user / "renamed.toml")
    path.write_text(path.read_text().replace('initial = "go"', 'initial = "went"'))
    (entry,) = places.list()
    assert (entry.id, entry.source, entry.shadows) == ("work", "user", ("builtin",))
    assert [finding.code for finding in entry.findings] == ["bad-initial"]


def test_two_files_of_one_directory_may_not_share_an_id(places: Places) -> None:
    _write(places.user, "a")
    (places.user / "b.toml").write_text((places.user / "a.toml").read_text())
    (entry,) = places.list()
    assert entry.recipe is None
    assert "a.toml and b.toml" in entry.findings[0].message


def test_other_files_and_directories_are_no_recipes(places: Places) -> None:
    _write(places.user, "good")
    (places.user / "notes.md").write_text("x")
    (places.user / "dir.toml").mkdir()
    ids = {entry.id: entry.recipe is None for entry in places.list()}
    assert ids == {"dir": True, "good": False}


def test_one_recipe_is_found_by_its_id(places: Places) -> None:
    _write(places.user, "good")
    assert places.catalogue.get("good", None).source == "user"
    with pytest.raises(RecipeNotFound, match="no recipe 'god'; the nearest known is 'good'"):
        places.catalogue.get("god", None)


def test_an_edit_is_seen_at_the_next_look(places: Places) -> None:
    _write(places.user, "good", "before")
    assert places.list()[0].label == "before"
    _write(places.user, "good", "after")
    assert places.list()[0].label == "after"


def test_prompt_files_stand_beside_the_recipe_or_below(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "go.md").write_text("Go on.\n")
    recipe = load_file(_write(tmp_path, "r", prompt='prompt_file = "sub/go.md"'))
    assert recipe.steps["go"].prompt == "Go on.\n"


@pytest.mark.parametrize(
    "name", ["../secret", "sub/../../secret", "{root}/secret", "link", "out/secret"]
)
def test_a_prompt_file_never_leads_out_of_the_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    home = tmp_path / "recipes"
    path = _write(home, "r", prompt=f'prompt_file = "{name.format(root=tmp_path)}"')
    (home / "sub").mkdir()
    (home / "link").symlink_to(tmp_path / "secret")
    (home / "out").symlink_to(tmp_path)
    message = _one_fault(path)
    assert "prompt_file" in message
    assert "beside the recipe" in message or "outside" in message


def test_a_missing_prompt_file_is_said_plainly(tmp_path: Path) -> None:
    path = _write(tmp_path, "r", prompt='prompt_file = "no.md"')
    assert "no such file" in _one_fault(path)


def test_a_links_circle_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("b.md")
    (tmp_path / "b.md").symlink_to("a.md")
    path = _write(tmp_path, "r", prompt='prompt_file = "a.md"')
    assert "cannot be used" in _one_fault(path)


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.toml"
    path.write_text("#" * MAX_BYTES)
    with pytest.raises(RecipeInvalid, match="needs the key"):
        load_file(path)
    path.write_text("#" * (MAX_BYTES + 1))
    assert "larger than 1048576 bytes" in _one_fault(path)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    assert "regular file" in _one_fault(tmp_path / "pipe.toml")


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(b"# \xff")
    assert "not UTF-8 at byte 2" in _one_fault(path)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = _write(tmp_path, "r")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_file(path).id == "r"


def test_a_projects_recipe_may_not_link_out_of_the_project(places: Places, tmp_path: Path) -> None:
    outside = _write(tmp_path, "outside")
    places.in_project.mkdir(parents=True)
    (places.in_project / "outside.toml").symlink_to(outside)
    (entry,) = places.list()
    assert "outside" in entry.findings[0].message
    assert entry.recipe is None


def test_the_users_recipe_may_be_a_link(places: Places, tmp_path: Path) -> None:
    outside = _write(tmp_path, "linked")
    places.user.mkdir()
    (places.user / "linked.toml").symlink_to(outside)
    assert places.list()[0].recipe is not None


def _builtin(tmp_path: Path) -> list[Entry]:
    return Catalogue(tmp_path, builtin_directory()).list(None)


def test_every_built_in_recipe_loads(tmp_path: Path) -> None:
    entries = _builtin(tmp_path)
    assert "implement-and-review" in [entry.id for entry in entries]
    assert [entry.findings for entry in entries if entry.recipe is None] == []


def test_every_exit_of_a_built_in_recipe_is_classified_explicitly(tmp_path: Path) -> None:
    exits = [
        (entry.id, step, outcome, edge)
        for entry in _builtin(tmp_path)
        if entry.recipe is not None
        for step, data in entry.recipe.steps.items()
        for outcome, edge in data.on.items()
        if edge.exit is not None
    ]
    assert exits
    for id_, step, outcome, edge in exits:
        assert edge.class_ is not None, (id_, step, outcome)
        assert edge.exit in KNOWN - RESERVED, (id_, step, outcome)


def test_the_shipped_implement_and_review_is_what_is_promised(tmp_path: Path) -> None:
    recipe = Catalogue(tmp_path, builtin_directory()).get("implement-and-review", None).recipe
    assert recipe is not None
    outcomes = {name: step.allowed_outcomes for name, step in recipe.steps.items()}
    assert outcomes == {
        "implement": ("complete", "no-tasks", "blocked", "other"),
        "code-review": ("no-issues", "issues-found", "other"),
        "fix": ("complete", "other"),
        "commit": ("committed", "nothing-to-commit", "other"),
    }
    beginnings = (
        "Run bd ready and implement the task.",
        "Perform a code review on the task that you just completed.",
        "Address the issues found.",
    )
    for step, beginning in zip(recipe.steps.values(), beginnings, strict=False):
        assert step.prompt.startswith(beginning)
    for step in recipe.steps.values():
        assert step.allow == ("Bash", "Edit", "Write")
        assert (step.gate, step.checks, step.irreversible) == (None, (), False)
    assert [step.commits for step in recipe.steps.values()] == [False, False, False, True]
    limits = recipe.limits
    assert (limits.max_step_visits, limits.max_total_steps, limits.max_minutes) == (3, 12, 240)
    assert all(param.default is not None for param in recipe.params.values())
