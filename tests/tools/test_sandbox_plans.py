"""The sandbox's rules as text, for the system that this machine is not as well."""

import errno
import os
from pathlib import Path

import pytest

from podiumd.tools.confine.bubblewrap import bubblewrap_arguments
from podiumd.tools.confine.places import Places, places_for
from podiumd.tools.confine.seatbelt import profile
from podiumd.tools.sandbox.sandbox import Enclosure, Probe, Sandbox

PLACES = Places(
    root="/Users/ada/proj",
    home="/Users/ada",
    hidden=("/Users",),
    shown=("/Users/ada/.cargo",),
    writable=("/Users/ada/proj", "/Users/ada/main/.git"),
    emptied=("/Users/ada/proj/state",),
    masked=('/Users/ada/.cargo/cred"s',),
    protected=("/Users/ada/main/.git/hooks", "/Users/ada/main/.git/config"),
    placed=("/Users/ada/main/.git/commondir",),
    unwanted=("/Users/ada/main/.git/remotes", "/Users/ada/proj/.git"),
)


def test_on_macos_later_rules_win_and_are_in_the_order_of_trust() -> None:
    text = profile(PLACES, "/private/tmp/scratch")
    lines = text.splitlines()

    assert lines[:3] == ["(version 1)", "(allow default)", "(deny network*)"]
    project, git, scratch = (
        f'(subpath "{path}")'
        for path in ("/Users/ada/proj", "/Users/ada/main/.git", "/private/tmp/scratch")
    )
    cargo, proj = '(subpath "/Users/ada/.cargo")', '(literal "/Users/ada/proj")'
    main = "/Users/ada/main/.git"
    kept = " ".join(
        f'(subpath "{main}/{name}")' for name in ("hooks", "config", "commondir", "remotes")
    )
    order = [
        "(deny file-write*)",
        '(deny file-read* (subpath "/Users"))',
        f"(allow file-read* {cargo} {project} {git} {scratch})",
        f"(allow file-write* {project} {git} {scratch})",
        '(deny file-read* file-write* (subpath "/Users/ada/proj/state"))',
        '(deny file-read* file-write* (literal "/Users/ada/.cargo/cred\\"s"))',
        f"(deny file-write* {kept})",
        f'(deny file-write-unlink {proj} (literal "{main}"))',
    ]
    assert [line for line in lines if line in order] == order
    # To reach the tree its parents are looked up, and not listed.
    assert '(literal "/Users/ada")' in text and "file-read-metadata" in text
    assert text.count("(") == text.count(")")


def test_on_linux_later_mounts_cover_earlier_ones() -> None:
    words = bubblewrap_arguments(PLACES)
    places = [words.index(path) for path in ("/Users", "/Users/ada/.cargo", "/Users/ada/proj")]

    assert places == sorted(places)
    assert words.index("/Users/ada/main/.git/hooks") > words.index("/Users/ada/main/.git")
    placed = words.index("/Users/ada/main/.git/commondir")
    assert placed > words.index("/Users/ada/main/.git") and words[placed - 1] == "--ro-bind"
    assert words.index("/proc/sys") > words.index("/proc")
    assert words[-3:] == ["--chdir", "/Users/ada/proj", "--"]
    assert {"--unshare-all", "--cap-drop"} <= set(words)


async def test_on_macos_commands_have_a_home_of_the_turn(tmp_path: Path) -> None:
    class There(Probe):
        async def program(self) -> tuple[str | None, str]:
            return "/usr/bin/sandbox-exec", ""

    root = tmp_path / "home/tree"
    root.mkdir(parents=True)
    sandbox = Sandbox("auto", home=tmp_path / "home", environ={}, probe=There(), platform="darwin")

    enclosed, notice = await sandbox.enclose(root, tmp_path / "turn")

    assert isinstance(enclosed, Enclosure) and notice == ""
    assert enclosed.prefix[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert f'(subpath "{root}")' in enclosed.prefix[2]
    assert enclosed.variables == {"HOME": f"{tmp_path}/turn", "TMPDIR": f"{tmp_path}/turn"}
    assert enclosed.command(["true"])[-1] == "true"


async def test_on_another_system_there_is_none() -> None:
    assert await Probe("plan9").program() == (None, "this system has no sandbox that is known")


def test_hidden_places_within_others_are_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "state").mkdir(parents=True)
    (tmp_path / "tree").mkdir()

    places = places_for(tmp_path / "tree", home=home, closed=[home / "state"], environ={})

    assert isinstance(places, Places)
    assert f"{home}" in places.hidden and f"{home}/state" not in places.hidden
    assert places.writable == (f"{tmp_path}/tree",)


def test_homes_of_others_that_may_not_be_entered_are_hidden_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the root's is for everybody else."""
    other = tmp_path / "other"
    for path in (tmp_path / "tree", tmp_path / "home", other):
        path.mkdir()
    look = Path.stat

    def guarded(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path != other and path.is_relative_to(other):
            raise PermissionError(errno.EACCES, "Permission denied", f"{path}")
        return look(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", guarded)
    monkeypatch.setattr("podiumd.tools.confine.places._HOMES", (f"{other}",))

    places = places_for(
        tmp_path / "tree", home=tmp_path / "home", closed=[], environ={"PATH": f"{other}/bin"}
    )

    assert isinstance(places, Places)
    assert f"{other}" in places.hidden
    assert not any(one.startswith(f"{other}") for one in (*places.shown, *places.masked))
