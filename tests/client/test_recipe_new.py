"""A recipe to begin with: whole, in the right place, never over another file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.commands.recipe_new import LONGEST_NAME, project_place, skeleton
from podiumd.config.paths import resolve
from podiumd.core.analysis.check import check_text
from podiumd.runtime.recipes.catalogue import project_of
from tests.client.fake_daemon import podium

NOBODY = Path("/no/such/socket")


@pytest.mark.parametrize("name", ["ship-a-fix", "x", "a1-b2"])
def test_it_checks_clean(name: str) -> None:
    result = check_text(skeleton(name), file=f"{name}.toml", read_prompt=lambda file: "")

    assert (result.findings, result.ok) == ((), True)
    assert result.recipe is not None
    assert result.recipe.id == name


@pytest.mark.parametrize("option", ["prompt_file", "default", "max_cost_usd", "on_limit"])
def test_each_note_that_is_made_a_line_is_sound_too(option: str) -> None:
    text = skeleton("ship-a-fix")
    noted = next(line for line in text.splitlines() if line.startswith(f"# {option} ="))
    whole = text.replace(noted, noted.removeprefix("# "))
    if option == "prompt_file":
        begin = whole.index('prompt = """')
        whole = whole[:begin] + whole[whole.index('"""\n', begin + 12) + 4 :]
    read = {"ship-a-fix/work.md": "Do {{task}}, mind {{last.review.detail}}."}

    result = check_text(whole, file="r.toml", read_prompt=read.__getitem__)

    assert result.findings == ()


def test_the_notes_on_checks_are_sound_together() -> None:
    text = skeleton("ship-a-fix")
    for key in ("checks = [", "checks-failed = "):
        assert text.count(f"# {key}") == 1
        text = text.replace(f"# {key}", key)

    assert check_text(text, file="r.toml", read_prompt=lambda file: "").findings == ()


def test_it_is_written_into_the_project_and_what_to_do_next_is_said(tmp_path: Path) -> None:
    path = tmp_path / ".podium" / "recipes" / "ship-a-fix.toml"

    done = podium(NOBODY, "recipe", "new", "ship-a-fix", "--cwd", str(tmp_path))

    assert (done.returncode, done.stdout) == (0, f"{path}\n")
    assert path.read_text() == skeleton("ship-a-fix")
    commands = [line.split("  ")[1] for line in done.stderr.splitlines()[1:]]
    assert commands == [
        f"podium recipe check {path}",
        f"podium recipe show ship-a-fix --cwd {tmp_path}",
        f"podium recipe trust --cwd {tmp_path}",
        f"podium run ship-a-fix --cwd {tmp_path} -p task=...",
    ]


def test_this_directory_is_the_project_unless_one_is_named(tmp_path: Path) -> None:
    done = podium(NOBODY, "recipe", "new", "one", "--json", cwd=tmp_path)

    path = tmp_path / ".podium" / "recipes" / "one.toml"
    assert json.loads(done.stdout) == {"id": "one", "path": str(path)}
    assert path.exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"HOME": "{root}"},
        {"HOME": "{root}", "XDG_CONFIG_HOME": "{root}/config"},
        {"HOME": "{root}", "XDG_CONFIG_HOME": "relative"},
        {"HOME": "{root}", "PODIUM_HOME": "{root}/podium"},
        {"HOME": "{root}", "PODIUM_CONFIG": "{root}/elsewhere.toml"},
    ],
    ids=str,
)
def test_a_persons_own_recipe_is_written_where_the_daemon_looks(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    given = {name: value.format(root=tmp_path) for name, value in settings.items()}

    done = podium(NOBODY, "recipe", "new", "mine", "--user", settings=given)

    expected = resolve(given, "linux", tmp_path).recipes / "mine.toml"
    assert done.stdout == f"{expected}\n"
    assert expected.parent.stat().st_mode & 0o777 == 0o700
    assert "podium recipe trust" not in done.stderr


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / ".podium" / "recipes" / "one.toml"
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "nowhere")

    done = podium(NOBODY, "recipe", "new", "one", cwd=tmp_path)

    assert done.returncode == 1
    assert "exists already: choose another id" in done.stderr
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["Ship", "a_b", "-x", "a--b", "../x", "a" * 65, "x\n"])
def test_an_id_that_no_recipe_can_have_is_refused(tmp_path: Path, name: str) -> None:
    done = podium(NOBODY, "recipe", "new", "--user", "--", name, HOME=str(tmp_path))

    assert done.returncode == 2
    assert f"at most {LONGEST_NAME} characters" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_project_and_no_project_cannot_both_be_meant(tmp_path: Path) -> None:
    done = podium(NOBODY, "recipe", "new", "one", "--user", "--cwd", str(tmp_path))

    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])


def test_a_project_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    done = podium(NOBODY, "recipe", "new", "one", "--cwd", str(tmp_path / "no"))

    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "is no directory" in done.stderr


@pytest.mark.parametrize("link", [".podium", ".podium/recipes"])
def test_no_link_is_followed_out_of_a_project(tmp_path: Path, link: str) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (outside / "recipes").mkdir(parents=True)
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to(outside)

    done = podium(NOBODY, "recipe", "new", "one", cwd=project)

    assert done.returncode == 1
    assert "is a link" in done.stderr
    assert [path.name for path in outside.rglob("*")] == ["recipes"]


def test_client_and_daemon_agree_on_the_place(tmp_path: Path) -> None:
    top, below = tmp_path / "top", tmp_path / "top" / "a" / "b"
    below.mkdir(parents=True)

    def placed() -> str:
        Path(project_place(str(below))).mkdir(parents=True, exist_ok=True)
        return project_place(str(below))

    assert project_place(str(below)) == str(below / ".podium" / "recipes")
    (top / ".git").mkdir()
    assert placed() == str(top / ".podium" / "recipes")
    assert project_of(str(below)) == top
    (top / "a" / ".podium" / "recipes").mkdir(parents=True)
    assert placed() == str(top / "a" / ".podium" / "recipes")
    assert project_of(str(below)) == top / "a"
