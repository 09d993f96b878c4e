"""Uploads: whole or not at all, in their folder and nowhere else."""

from __future__ import annotations

import base64
import os
import re
import tracemalloc
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects import resources
from podiumd.projects.errors import (
    BadContent,
    BadName,
    BadPlace,
    NoSuchFile,
    StorageFailed,
    TooLarge,
)
from podiumd.projects.filenames import LONGEST_BYTES, checked_name, numbered
from podiumd.projects.resources import Resources, check_base64, decoded
from tests.projects.hostile_names import HARMLESS, REFUSED
from tests.tools.git_repository import make_repository, run_git

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "place"
    path.mkdir()
    return path


@pytest.fixture
def files(tmp_path: Path) -> Resources:
    return Resources(tmp_path, wall=lambda: NOON)


def folder(place: Path) -> Path:
    return place / ".untethered" / "resources"


def everything(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


@pytest.mark.parametrize("named", ["~/Downloads", "~/a/b c/d", "{home}/Downloads"])
async def test_a_directory_below_the_home_that_is_not_there_is_made(
    files: Resources, tmp_path: Path, named: str
) -> None:
    named = named.format(home=tmp_path)
    assert await files.list(named) == []
    assert everything(tmp_path) == set()
    stored = await files.put(named, "note.txt", b"hello")
    again = await files.put_base64(named, "more.txt", base64.b64encode(b"x").decode())
    assert Path(stored.path).read_bytes() == b"hello"
    assert Path(stored.path).is_relative_to(tmp_path)
    assert Path(stored.path).parents[2].stat().st_mode & 0o777 == 0o700
    assert {each.filename for each in await files.list(named)} == {"note.txt", again.filename}
    assert (await files.delete(named, "note.txt")).filename == "note.txt"


async def test_git_tells_nothing_of_what_is_sent_unless_a_person_wants_it_to(
    files: Resources, tmp_path: Path
) -> None:
    repository = make_repository(tmp_path / "repository")
    await files.put(f"{repository}", "note.txt", b"hello")
    assert run_git(repository, "status", "--porcelain") == ""

    (repository / ".untethered/.gitignore").unlink()
    await files.put(f"{repository}", "more.txt", b"hello")
    assert run_git(repository, "status", "--porcelain") == "?? .untethered/"


async def test_what_a_person_keeps_in_the_folder_is_theirs_to_ignore(
    files: Resources, place: Path
) -> None:
    repository = make_repository(place / "repository")
    notes = repository / ".untethered/notes.md"
    notes.parent.mkdir()
    notes.write_text("mine\n")

    await files.put(f"{repository}", "note.txt", b"hello")

    assert ".untethered/notes.md" in run_git(repository, "status", "--porcelain", "-uall")


@pytest.mark.parametrize(
    "named",
    [
        "{outside}/new",
        "~/../outside/new",
        "~/inside/../../outside/new",
        "~/link/new",
        "~/dangling",
        "~/file/new",
        "~/" + "x" * 300,
        "~/" + "d/" * 40,
    ],
)
async def test_nothing_is_made_outside_of_the_home_or_behind_a_link(
    tmp_path: Path, named: str
) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (home / "link").symlink_to(outside)
    (home / "dangling").symlink_to(outside / "new")
    (home / "file").write_text("")
    before = everything(tmp_path)
    files = Resources(home, wall=lambda: NOON)
    with pytest.raises(BadPlace):
        await files.put(named.format(outside=outside), "note.txt", b"hello")
    assert everything(tmp_path) == before


async def test_a_bad_upload_makes_no_directory(files: Resources, tmp_path: Path) -> None:
    with pytest.raises(BadContent):
        await files.put_base64("~/Downloads", "note.txt", "no base64")
    with pytest.raises(BadName):
        await files.put("~/Downloads", "../note.txt", b"")
    assert everything(tmp_path) == set()


async def test_a_place_that_is_not_there_has_no_files_and_what_is_no_directory_is_told(
    files: Resources, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    assert await files.list("/nowhere/at/all") == await files.list("~/Downloads") == []
    with pytest.raises(BadPlace, match="is not there"):
        await files.list("~/file")
    with pytest.raises(BadPlace, match="no absolute path"):
        await files.list("Downloads")
    with pytest.raises(BadPlace, match="is not there"):
        await files.delete("~/Downloads", "note.txt")


async def test_a_file_is_stored_with_its_size_and_a_time_without_fraction(
    files: Resources, place: Path
) -> None:
    stored = await files.put(str(place), "note.txt", b"hello")
    path = folder(place) / "note.txt"
    assert path.read_bytes() == b"hello"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert (stored.filename, stored.size) == ("note.txt", 5)
    assert stored.path == str(path)
    assert stored.relative_path == ".untethered/resources/note.txt"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stored.timestamp)
    assert await files.list(str(place)) == [stored]


async def test_home_is_expanded_and_an_empty_file_is_a_file(files: Resources, place: Path) -> None:
    stored = await files.put_base64("~/place", "empty", "")
    assert stored.size == 0
    assert (folder(place) / "empty").exists()


async def test_a_taken_name_is_never_overwritten(files: Resources, place: Path) -> None:
    names = [(await files.put(str(place), "a.txt", b"%d" % n)).filename for n in range(3)]
    assert names == ["a.txt", "a-20260301120000.txt", "a-20260301120000-2.txt"]
    assert [(folder(place) / name).read_bytes() for name in names] == [b"0", b"1", b"2"]


async def test_a_link_or_directory_of_that_name_is_left_alone(
    files: Resources, place: Path, tmp_path: Path
) -> None:
    await files.put(str(place), "first", b"")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (folder(place) / "a").symlink_to(victim)
    (folder(place) / "b").symlink_to(tmp_path / "nowhere")
    (folder(place) / "c").mkdir()
    for name in "abc":
        assert (await files.put(str(place), name, b"x")).filename == f"{name}-20260301120000"
    assert victim.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


async def test_no_hostile_name_leaves_a_trace_or_deletes_anything(
    files: Resources, place: Path, tmp_path: Path
) -> None:
    (tmp_path / "victim.txt").write_text("precious")
    (tmp_path / "x").write_text("precious")
    before = everything(tmp_path)
    for name in REFUSED:
        for call in (
            files.put(str(place), name, b"evil"),
            files.put_base64(str(place), name, "ZXZpbA=="),
            files.delete(str(place), name),
        ):
            with pytest.raises(BadName):
                await call
    assert everything(tmp_path) == before


async def test_an_odd_name_is_stored_in_the_folder_and_can_be_deleted(
    files: Resources, place: Path, tmp_path: Path
) -> None:
    folders = {".untethered", ".untethered/.gitignore", ".untethered/resources"}
    for name in HARMLESS:
        stored = await files.put(str(place), name, b"x")
        assert everything(place) == {*folders, f".untethered/resources/{stored.filename}"}
        assert {path.name for path in tmp_path.iterdir()} == {"place"}
        assert (await files.delete(str(place), name)).filename == stored.filename
        assert await files.list(str(place)) == []


@pytest.mark.parametrize("above", [".untethered", ".untethered/resources"])
async def test_a_link_in_the_way_is_never_followed(
    files: Resources, place: Path, tmp_path: Path, above: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "resources").mkdir(parents=True)
    for path in (outside / "victim", outside / "resources" / "victim"):
        path.write_text("precious")
    link = place / above
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    before = everything(tmp_path)
    for call in (
        files.put(str(place), "a", b"x"),
        files.delete(str(place), "victim"),
        files.list(str(place)),
    ):
        with pytest.raises(BadPlace, match="is a link"):
            await call
    assert everything(tmp_path) == before


async def test_a_place_that_is_a_link_a_file_or_relative_is_refused(
    files: Resources, place: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(place)
    (tmp_path / "file").write_text("")
    for name in ("link", "file"):
        with pytest.raises(BadPlace):
            await files.put(str(tmp_path / name), "a", b"")
    with pytest.raises(BadPlace):
        await files.put("place", "a", b"")
    (place / ".untethered").write_text("a file")
    with pytest.raises(BadPlace, match="is no directory"):
        await files.put(str(place), "a", b"")
    assert everything(place) == {".untethered"}


async def test_a_folder_exchanged_for_a_link_in_mid_upload_takes_nothing_outside(
    files: Resources, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    write = resources._write

    def exchange(descriptor: int, name: str, content: Iterable[bytes]) -> None:
        if name == ".gitignore":
            return write(descriptor, name, content)
        (place / ".untethered").rename(place / "moved")
        (place / ".untethered").mkdir()
        folder(place).symlink_to(outside)
        return write(descriptor, name, content)

    monkeypatch.setattr(resources, "_write", exchange)
    await files.put(str(place), "a", b"x")
    assert list(outside.iterdir()) == []
    assert (place / "moved" / "resources" / "a").read_bytes() == b"x"


async def test_what_was_not_stored_here_is_not_deleted(
    files: Resources, place: Path, tmp_path: Path
) -> None:
    with pytest.raises(NoSuchFile):
        await files.delete(str(place), "a")
    await files.put(str(place), "first", b"")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (folder(place) / "link").symlink_to(victim)
    (folder(place) / "directory").mkdir()
    os.mkfifo(folder(place) / "pipe")
    for name in ("link", "directory", "pipe"):
        with pytest.raises(BadName, match="is no file that was stored"):
            await files.delete(str(place), name)
    with pytest.raises(NoSuchFile, match="There is no file 'a'"):
        await files.delete(str(place), "a")
    assert victim.read_text() == "precious"
    assert (folder(place) / "link").is_symlink()


async def test_only_stored_files_are_listed_newest_first(
    files: Resources, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await files.list(str(place)) == []
    for at, name in enumerate(["old", "new", "middle"]):
        await files.put(str(place), name, b"")
        os.utime(folder(place) / name, (1000 + [0, 2, 1][at], 1000 + [0, 2, 1][at]))
    (folder(place) / ".hidden").write_text("")
    (folder(place) / "a\nb").write_text("")
    (folder(place) / "link").symlink_to("old")
    (folder(place) / "sub").mkdir()
    os.close(os.open(os.fsencode(folder(place)) + b"/\xff", os.O_CREAT))
    found = await files.list(str(place))
    assert [one.filename for one in found] == ["new", "middle", "old"]
    assert found[0].timestamp == "1970-01-01T00:16:42Z"
    monkeypatch.setattr(resources, "MOST_LISTED", 2)
    assert [one.filename for one in await files.list(str(place))] == ["new", "middle"]


async def test_a_file_over_the_limit_is_refused_before_and_after_decoding(
    files: Resources, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "MOST_BYTES", 9)
    for size, taken in ((9, True), (10, False), (11, False), (100, False)):
        content = base64.b64encode(bytes(size)).decode()
        for call in (
            files.put(str(place), "a", bytes(size)),
            files.put_base64(str(place), "a", content),
        ):
            if taken:
                assert (await call).size == 9
            else:
                with pytest.raises(TooLarge):
                    await call


@pytest.mark.parametrize("content", ["a", "ab=", "=", "a\nb=", "äöü=", "ab*=", "\ud800", "YQ==YQ="])
async def test_what_is_no_base64_is_refused(files: Resources, place: Path, content: str) -> None:
    with pytest.raises(BadContent, match="no valid base64"):
        await files.put_base64(str(place), "a", content)
    assert everything(place) == set()


def test_base64_gives_its_bytes() -> None:
    """Whatever its size is to that of the pieces in which it is decoded."""
    for size in (0, 1, 2, 3, 256, 786_431, 786_432, 786_433, 786_434, 2_000_000):
        content = bytes(range(256)) * (size // 256) + bytes(size % 256)
        assert b"".join(decoded(base64.b64encode(content).decode())) == content


@pytest.mark.parametrize("wrong", ["=", "é", "\n", "QQ==QQ=="])
def test_base64_is_judged_in_each_piece_as_in_the_whole(wrong: str) -> None:
    text = "QUFB" * 262_143
    for content in (text + wrong + text, text + "QQ==" + text, text + text + wrong):
        with pytest.raises(BadContent):
            check_base64(content)


async def test_a_large_file_takes_little_memory_beside_its_text(
    files: Resources, place: Path
) -> None:
    content = base64.b64encode(bytes(8_000_000)).decode()
    tracemalloc.start()
    try:
        stored = await files.put_base64(str(place), "a", content)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert stored.size == 8_000_000
    assert most < 5_000_000


@pytest.mark.parametrize("step", ["write", "fsync", "link"])
async def test_a_disk_that_refuses_leaves_nothing_half_made(
    files: Resources, place: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    await files.put(str(place), "kept", b"")
    if step == "write":
        monkeypatch.setattr(resources, "_write", full)
    else:
        monkeypatch.setattr(os, step, full)
    with pytest.raises(StorageFailed, match="No space left on device"):
        await files.put(str(place), "a", b"x" * 100_000)
    monkeypatch.undo()
    assert [path.name for path in folder(place).iterdir()] == ["kept"]


async def test_a_folder_that_may_not_be_entered_is_named(
    files: Resources, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await files.put(str(place), "a", b"")
    opened = os.open

    def closed(path: str, *rest: int, dir_fd: int | None = None) -> int:
        if path == "resources":
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", closed)
    with pytest.raises(StorageFailed, match=f"'{place}': Permission denied"):
        await files.list(str(place))


async def test_what_a_killed_daemon_left_is_removed_after_an_hour(
    files: Resources, place: Path
) -> None:
    await files.put(str(place), "a", b"")
    old, young = folder(place) / ".upload-old", folder(place) / ".upload-young"
    old.write_text("half")
    young.write_text("half")
    os.utime(old, (0, 0))
    await files.put(str(place), "b", b"")
    assert not old.exists()
    assert young.exists()


# -- names of uploaded files: plain ones only, in one form, and another where one is taken ---


STAMP = "20260301120000"


def refusal(name: str) -> str:
    with pytest.raises(BadName) as raised:
        checked_name(name)
    return str(raised.value)


def test_hostile_names_are_refused_in_words_that_can_be_shown() -> None:
    assert len(REFUSED) >= 200
    for name in REFUSED:
        words = refusal(name)
        assert re.match(r"The file name '.*' (is|holds|begins|has)", words), words
        assert words.isprintable() and len(words) < 700


def test_names_that_only_look_odd_are_kept() -> None:
    kept = {name: checked_name(name) for name in HARMLESS}
    assert kept == {name: unicodedata.normalize("NFC", name) for name in HARMLESS}


@given(st.text(max_size=300))
def test_whatever_is_taken_is_one_plain_name(name: str) -> None:
    try:
        taken = checked_name(name)
    except BadName:
        return
    assert taken == unicodedata.normalize("NFC", taken)
    assert not set(taken) & set("/\\\0")
    assert taken[0] not in ".-"
    assert 0 < len(taken.encode()) <= LONGEST_BYTES
    assert checked_name(taken) == taken


@pytest.mark.parametrize(
    ("name", "first", "third"),
    [
        ("a.txt", f"a-{STAMP}.txt", f"a-{STAMP}-3.txt"),
        ("a.tar.gz", f"a.tar-{STAMP}.gz", f"a.tar-{STAMP}-3.gz"),
        ("README", f"README-{STAMP}", f"README-{STAMP}-3"),
        ("a.", f"a-{STAMP}.", f"a-{STAMP}-3."),
    ],
)
def test_a_taken_name_gets_the_time_and_then_a_number(name: str, first: str, third: str) -> None:
    assert (numbered(name, STAMP, 1), numbered(name, STAMP, 3)) == (first, third)


@given(st.text(min_size=1, max_size=260), st.integers(1, 10**6))
def test_another_name_for_a_taken_one_is_a_good_name_too(name: str, number: int) -> None:
    try:
        taken = checked_name(name)
    except BadName:
        return
    other = numbered(taken, STAMP, number)
    assert other != taken
    assert len(other.encode()) <= LONGEST_BYTES
    assert STAMP in other
    assert not set(other) & set("/\\\0")


def test_a_long_name_is_shortened_between_characters_and_keeps_its_ending() -> None:
    assert numbered("é" * 124 + ".png", STAMP, 1) == "é" * 118 + f"-{STAMP}.png"
    assert numbered("a." + "b" * 250, STAMP, 1) == "a." + "b" * 238 + f"-{STAMP}"
