"""The catalogue: what can be started, where it came from, and what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podiumd.core.recipe.load import RecipeInvalid, read_recipe
from podiumd.runtime.recipes import catalogue
from podiumd.runtime.recipes.catalogue import (
    ALL_OF_PROJECT,
    Catalogue,
    Entry,
    RecipeNotFound,
    builtin_directory,
    load_file,
    project_of,
)
from podiumd.runtime.recipes.files import (
    PROJECT_NAMES,
    PROJECT_RECIPE_BYTES,
    PROJECT_RECIPES,
    PROMPT_BYTES,
    RECIPE_BYTES,
    own_prompts,
)

RECIPE = """format = 1
id = "{id}"
label = "{label}"
initial = "go"
[steps.go]
{prompt}
on = {{ done = {{ exit = "conversation-complete" }} }}
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


def _one_fault(path: Path) -> str:
    with pytest.raises(RecipeInvalid) as caught:
        load_file(path)
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


@pytest.fixture
def understood(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose text was worked out."""
    files: list[str] = []

    def counted(text: str, *, file: str, read_prompt: Callable[[str], str]) -> Any:
        files.append(Path(file).name)
        return read_recipe(text, file=file, read_prompt=read_prompt)

    monkeypatch.setattr(catalogue, "read_recipe", counted)
    return files


def test_the_same_texts_are_worked_out_once(places: Places, understood: list[str]) -> None:
    _write(places.user, "plain")
    _write(places.user, "asks", prompt='prompt_file = "go.md"')
    (places.user / "go.md").write_text("Go.")
    first = places.list()
    assert places.list() == first and places.catalogue.get("asks", None).recipe is not None
    assert understood == ["asks.toml", "plain.toml"]


def test_an_edit_of_a_prompt_file_is_seen_at_the_next_look(
    places: Places, understood: list[str]
) -> None:
    _write(places.user, "asks", prompt='prompt_file = "go.md"')
    (places.user / "go.md").write_text("Go.")
    first = places.catalogue.get("asks", None).recipe
    assert first is not None and first.steps["go"].prompt == "Go."
    (places.user / "go.md").write_text("Go on.")
    recipe = places.catalogue.get("asks", None).recipe
    assert recipe is not None and recipe.steps["go"].prompt == "Go on."
    (places.user / "go.md").unlink()
    assert [one.code for one in places.catalogue.get("asks", None).findings]
    (places.user / "go.md").write_text("Go on.")
    assert places.catalogue.get("asks", None).recipe == recipe
    assert len(understood) == 3


def test_who_wants_one_recipe_waits_for_no_prompt_file_of_another(
    places: Places, understood: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the first time, when it is not known yet what the others are called."""
    for name in ("asks", "other"):
        _write(places.user, name, prompt=f'prompt_file = "{name}.md"')
        (places.user / f"{name}.md").write_text("Go.")
    places.list()
    read = list[str]()

    def prompts(directory: Path, believer: int | None) -> Callable[[str], str]:
        own = own_prompts(directory, believer)

        def noted(name: str) -> str:
            read.append(name)
            return own(name)

        return noted

    monkeypatch.setattr(catalogue, "own_prompts", prompts)
    assert places.catalogue.get("asks", None).recipe is not None
    assert read == ["asks.md"]
    (places.user / "other.md").unlink()
    assert places.catalogue.get("other", None).recipe is None
    _write(places.user, "other", "Another text", prompt='prompt = "Go on."')
    assert places.catalogue.get("other", None).label == "Another text"
    with pytest.raises(RecipeNotFound, match="the nearest known is 'other'"):
        places.catalogue.get("othe", None)
    assert understood.count("asks.toml") == 1


def test_of_long_prompts_nothing_is_remembered(
    places: Places, understood: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "MOST_KEPT", 2)
    _write(places.user, "asks", prompt='prompt_file = "go.md"')
    (places.user / "go.md").write_text("Go.")
    assert places.list() and places.list()
    assert len(understood) == 2


def test_prompt_files_stand_beside_the_recipe_or_below(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "go.md").write_text("Go on.\n")
    recipe, _ = load_file(_write(tmp_path, "r", prompt='prompt_file = "sub/go.md"'))
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
    path.write_text("#" * RECIPE_BYTES)
    with pytest.raises(RecipeInvalid, match="needs the key"):
        load_file(path)
    path.write_text("#" * (RECIPE_BYTES + 1))
    assert "larger than 64 KiB" in _one_fault(path)


def test_a_prompt_file_too_large_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path, "r", prompt='prompt_file = "go.md"')
    (tmp_path / "go.md").write_text("x" * PROMPT_BYTES)
    assert len(load_file(path)[0].steps["go"].prompt) == PROMPT_BYTES
    (tmp_path / "go.md").write_text("x" * (PROMPT_BYTES + 1))
    assert "larger than 1024 KiB" in _one_fault(path)


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
    assert load_file(path)[0].id == "r"


def test_a_projects_recipe_may_be_no_link_not_even_to_another_of_its_files(
    places: Places,
) -> None:
    inside = _write(places.project, "inside")
    places.in_project.mkdir(parents=True)
    (places.in_project / "inside.toml").symlink_to(inside)
    (entry,) = places.list()
    assert "'inside.toml' is a link" in entry.findings[0].message
    assert entry.recipe is None


@pytest.mark.parametrize("name", ["link.md", "sub/go.md", "../outside.md", "{root}/outside.md"])
def test_a_projects_prompt_file_lies_beside_its_recipe_and_no_link_leads_to_it(
    places: Places, name: str
) -> None:
    outside = places.project / "outside.md"
    _write(places.in_project, "r", prompt=f'prompt_file = "{name.format(root=places.project)}"')
    outside.write_text("A secret.")
    (places.in_project / "link.md").symlink_to(outside)
    (places.project / "elsewhere").mkdir()
    (places.project / "elsewhere" / "go.md").write_text("A secret.")
    (places.in_project / "sub").symlink_to(places.project / "elsewhere")
    (entry,) = places.list()
    assert entry.recipe is None
    message = entry.findings[0].message
    assert "is a link" in message or "beside the recipe" in message


def test_a_projects_prompt_file_may_lie_in_a_folder_beside_its_recipe(places: Places) -> None:
    _write(places.in_project, "r", prompt='prompt_file = "./sub/go.md"')
    (places.in_project / "sub").mkdir()
    (places.in_project / "sub" / "go.md").write_text("Go on.")
    recipe = places.list()[0].recipe
    assert recipe is not None
    assert recipe.steps["go"].prompt == "Go on."


def test_a_missing_prompt_file_of_a_project_is_said_plainly(places: Places) -> None:
    _write(places.in_project, "r", prompt='prompt_file = "no/such.md"')
    assert "no such file" in places.list()[0].findings[0].message


@pytest.mark.parametrize("link", [".podium", ".podium/recipes"])
@pytest.mark.parametrize("target", ["elsewhere", "."], ids=["elsewhere", "circle"])
def test_a_projects_place_may_be_no_link(places: Places, link: str, target: str) -> None:
    _write(places.builtin, "good")
    _write(places.project / "elsewhere" / "recipes", "bad")
    (places.project / link).parent.mkdir(exist_ok=True)
    (places.project / link).symlink_to(
        link if target == "." else places.project / target, target_is_directory=True
    )
    ids = [entry.id for entry in places.list()]
    if link == ".podium" and target == ".":
        assert ids == ["good"]  # it leads nowhere, so there is nothing
    else:
        assert ids == ["good", ALL_OF_PROJECT]
        assert "is a link" in places.list()[1].description


def test_a_place_that_is_a_file_is_said_plainly(places: Places) -> None:
    (places.project / ".podium").mkdir(parents=True)
    (places.project / ".podium" / "recipes").write_text("x")
    assert "not a directory" in places.list()[0].description


def _too_many_names(place: Path) -> None:
    for number in range(PROJECT_NAMES + 1):
        (place / f"{number}.md").touch()


def _too_many_recipes(place: Path) -> None:
    for number in range(PROJECT_RECIPES + 1):
        (place / f"{number}.toml").touch()


def _too_much_of_recipes(place: Path) -> None:
    for number in range(PROJECT_RECIPE_BYTES // RECIPE_BYTES + 1):
        (place / f"{number}.toml").write_text("#" * RECIPE_BYTES)


def _too_much_in_all(place: Path) -> None:
    (place / "p.md").write_text("x" * PROMPT_BYTES)
    for number in range(5):
        _write(place, f"r{number}", prompt='prompt_file = "p.md"')


@pytest.mark.parametrize(
    ("fill", "words"),
    [
        (_too_many_names, "more than 1000 files"),
        (_too_many_recipes, "more than 100 recipes"),
        (_too_much_of_recipes, "more than 262144 bytes of recipes"),
        (_too_much_in_all, "more than 4194304 bytes in all"),
    ],
)
def test_a_project_with_too_much_is_not_looked_at_and_hides_no_one_recipe(
    places: Places, fill: Callable[[Path], None], words: str
) -> None:
    _write(places.builtin, "good")
    places.in_project.mkdir(parents=True)
    fill(places.in_project)
    good, whole = places.list()
    assert (good.id, good.source, whole.id) == ("good", "builtin", ALL_OF_PROJECT)
    assert words in whole.description
    # It might hold a recipe 'good': nobody can tell, so nobody gets the other by mistake.
    meant = places.catalogue.get("good", str(places.project))
    assert (meant.recipe, meant.shadows, meant.findings) == (None, ("builtin",), whole.findings)
    assert places.catalogue.get("builtin.good", str(places.project)).recipe is not None
    assert places.catalogue.get(ALL_OF_PROJECT, str(places.project)).findings == whole.findings
    assert places.catalogue.get("other", str(places.project)).shadows == ()


def test_a_recipe_is_meant_by_its_source_whatever_shadows_it(places: Places) -> None:
    for directory in (places.builtin, places.user, places.in_project):
        _write(directory, "all", directory.name)
    where = str(places.project)
    for name, label in (
        ("all", "recipes"),
        ("project.all", "recipes"),
        ("user.all", "user"),
        ("builtin.all", "builtin"),
    ):
        entry = places.catalogue.get(name, where)
        assert (entry.id, entry.label) == ("all", label)
    (places.user / "again.toml").write_text((places.user / "all.toml").read_text())
    assert places.catalogue.get("user.all", where).recipe is None
    for unknown in ("project.one", "user.al", "theirs.all", "builtin.", "."):
        with pytest.raises(RecipeNotFound):
            places.catalogue.get(unknown, where)


def test_a_project_is_seen_from_every_directory_of_its_checkout(places: Places) -> None:
    _write(places.in_project, "top")
    below = places.project / "a" / "b"
    below.mkdir(parents=True)
    assert project_of(str(below)) is None  # no checkout: only the directory itself
    (places.project / ".git").mkdir()
    assert project_of(str(below)) == places.project
    assert [entry.project for entry in places.catalogue.list(str(below))] == [places.project]
    _write(places.project / "a" / ".podium" / "recipes", "nearer")
    assert [entry.id for entry in places.catalogue.list(str(below))] == ["nearer"]
    (below / ".git").write_text("gitdir: elsewhere")  # a checkout of its own
    assert project_of(str(below)) is None


def test_a_name_that_is_no_text_is_shown_as_text(places: Places) -> None:
    places.in_project.mkdir(parents=True)
    (places.in_project / os.fsdecode(b"\xff\x1b.toml")).write_text("x")
    (entry,) = places.list()
    assert entry.id == "\\xff\x1b"
    msgspec.json.encode([entry.id, entry.findings])


def test_the_users_recipe_may_be_a_link(places: Places, tmp_path: Path) -> None:
    outside = _write(tmp_path, "linked")
    places.user.mkdir()
    (places.user / "linked.toml").symlink_to(outside)
    assert places.list()[0].recipe is not None


def test_every_built_in_recipe_loads(tmp_path: Path) -> None:
    entries = Catalogue(tmp_path, builtin_directory()).list(None)
    assert "implement-and-review" in [entry.id for entry in entries]
    assert [entry.findings for entry in entries if entry.recipe is None] == []
