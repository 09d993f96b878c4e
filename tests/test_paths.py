"""Where things are, and directories that are one user's alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podiumd.config.paths import (
    PlaceError,
    Places,
    check_socket_directory,
    make_private,
    prepare,
    resolve,
)
from podiumd.tools.files import believed

HOME = Path("/home/ada")


def linux(**environ: str) -> Places:
    return resolve(environ, "linux", HOME)


def mac(**environ: str) -> Places:
    return resolve(environ, "darwin", Path("/Users/ada"))


def test_the_places_on_linux() -> None:
    places = linux()
    assert places.config == HOME / ".config/podium/config.toml" and not places.config_required
    assert places.recipes == HOME / ".config/podium/recipes"
    assert places.state == HOME / ".local/state/podium"
    assert places.socket == HOME / ".local/state/podium/podium.sock"
    assert places.locks == HOME / ".local/state/podium-locks"
    assert places.instance_lock == places.state / "podiumd.lock"
    assert places.log == places.state / "podiumd.log"
    assert places.private == (places.state, places.locks)


def test_the_xdg_directories_are_followed() -> None:
    places = linux(
        XDG_CONFIG_HOME="/c",
        XDG_STATE_HOME="/s",
        XDG_RUNTIME_DIR="/run/user/7",
    )
    assert places.config == Path("/c/podium/config.toml")
    assert places.state == Path("/s/podium")
    assert places.socket == Path("/run/user/7/podium/podium.sock")
    assert places.private == (Path("/run/user/7/podium"), Path("/s/podium"), places.locks)


@pytest.mark.parametrize("value", ["", "relative", "~/x"])
def test_a_home_that_is_not_absolute_is_refused(value: str) -> None:
    with pytest.raises(PlaceError, match=rf"^HOME is '{value}': set it to the absolute path"):
        linux(HOME=value, PODIUM_HOME="/p")
    assert linux(HOME="/home/ada") == linux()


@pytest.mark.parametrize("value", ["", "relative", "~/x"])
def test_an_xdg_directory_that_is_not_absolute_is_ignored(value: str) -> None:
    names = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
    assert resolve(dict.fromkeys(names, value), "linux", HOME) == linux()


def test_the_places_on_macos() -> None:
    support = Path("/Users/ada/Library/Application Support")
    places = mac(XDG_CONFIG_HOME="/c", XDG_RUNTIME_DIR="/r")
    assert places.config == support / "podium/config.toml"
    assert places.recipes == support / "podium/recipes"
    assert places.state == support / "podium"
    assert places.socket == support / "podium/podium.sock"
    assert places.locks == support / "podium-locks"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_podium_home_is_a_second_private_daemon_but_shares_the_locks(platform: str) -> None:
    environ = {"PODIUM_HOME": "/p", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"}
    places = resolve(environ, platform, HOME)
    assert places.config == Path("/p/config.toml") and places.recipes == Path("/p/recipes")
    assert places.state == Path("/p/state") and places.socket == Path("/p/podium.sock")
    assert places.locks == resolve({}, platform, HOME).locks
    assert places.private == (Path("/p"), Path("/p/state"), places.locks)


def test_podium_socket_wins_and_its_directory_is_not_ours() -> None:
    places = linux(PODIUM_HOME="/p", PODIUM_SOCKET="/tmp/x.sock")
    assert places.socket == Path("/tmp/x.sock")
    assert places.private == (Path("/p/state"), places.locks)


def test_the_configuration_may_be_named() -> None:
    by_variable = linux(PODIUM_CONFIG="~/own.toml", PODIUM_HOME="/p")
    assert by_variable.config == HOME / "own.toml" and by_variable.config_required
    by_flag = resolve({"PODIUM_CONFIG": "/a.toml"}, "linux", HOME, "b.toml")
    assert by_flag.config == Path.cwd() / "b.toml"


@pytest.mark.parametrize(("platform", "longest"), [("linux", 107), ("darwin", 103)])
def test_a_socket_path_that_is_too_long_is_a_clear_error(platform: str, longest: int) -> None:
    def of_length(length: int) -> dict[str, str]:
        return {"PODIUM_SOCKET": "/" + "é" * ((length - 1) // 2) + "x" * ((length - 1) % 2)}

    longest_socket = resolve(of_length(longest), platform, HOME).socket
    assert len(os.fsencode(longest_socket)) == longest
    with pytest.raises(PlaceError) as caught:
        resolve(of_length(longest + 1), platform, HOME)
    assert f"is {longest + 1} bytes long; this system allows {longest}" in str(caught.value)
    assert "PODIUM_SOCKET" in str(caught.value)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_private_directory_is_made_with_its_parents(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        make_private(tmp_path / "a" / "b", os.getuid())
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "b") == 0o700


def test_an_open_directory_of_our_own_is_closed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    make_private(tmp_path / "a", os.getuid())
    assert mode(tmp_path / "a") == 0o700


def test_a_directory_that_others_can_write_to_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o777)
    with pytest.raises(PlaceError, match=r"is not yours alone: everybody can write to it"):
        make_private(tmp_path / "a", os.getuid())
    assert mode(tmp_path / "a") == 0o777


def test_a_link_to_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "a").symlink_to("real")
    with pytest.raises(PlaceError, match="is a symbolic link"):
        make_private(tmp_path / "a", os.getuid())


def test_a_dangling_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("nowhere")
    with pytest.raises(PlaceError, match=r"Cannot create|symbolic link"):
        make_private(tmp_path / "a", os.getuid())
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(PlaceError, match=r"Cannot create .*a: File exists"):
        make_private(tmp_path / "a", os.getuid())


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match="belongs to user"):
        make_private(tmp_path, os.getuid() + 1)


def test_a_shared_directory_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    with pytest.raises(PlaceError, match="a shared directory"):
        make_private(tmp_path / "shared", os.getuid())
    assert mode(tmp_path / "shared") == 0o777


def test_the_directory_of_a_chosen_socket_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    check_socket_directory(tmp_path, os.getuid())
    assert mode(tmp_path) == 0o755
    check_socket_directory(tmp_path / "new", os.getuid())
    assert mode(tmp_path / "new") == 0o700


def test_a_chosen_socket_may_stand_in_a_shared_sticky_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    check_socket_directory(tmp_path, os.getuid())


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o707])
def test_a_chosen_socket_where_others_could_put_theirs_is_refused(
    tmp_path: Path, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(believed, "_is_own", lambda *_: False)
    tmp_path.chmod(bits)
    with pytest.raises(PlaceError, match="Others could put a socket"):
        check_socket_directory(tmp_path, os.getuid())


def test_a_chosen_socket_may_stand_where_a_group_of_the_users_own_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in every directory that is made under a umask of 002."""
    monkeypatch.setattr(believed, "_is_own", lambda *_: True)
    tmp_path.chmod(0o770)
    check_socket_directory(tmp_path, os.getuid())


def test_a_chosen_socket_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlaceError, match="is not a directory"):
        check_socket_directory(tmp_path / "file", os.getuid())


def test_preparing_makes_all_that_is_ours(tmp_path: Path) -> None:
    environ = {"PODIUM_HOME": str(tmp_path / "p"), "PODIUM_SOCKET": str(tmp_path / "r" / "s")}
    places = resolve(environ, "linux", tmp_path)
    prepare(places, os.getuid())
    made = (places.state, places.locks, tmp_path / "r")
    assert [mode(path) for path in made] == [0o700] * 3
