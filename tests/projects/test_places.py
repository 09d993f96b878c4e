"""Directories named from afar: absolute, there, and nothing else."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import trio.testing

from podiumd.projects import places
from podiumd.projects.errors import BadPlace
from podiumd.projects.places import existing_directory, named_directory


async def test_a_directory_is_found_by_its_path_and_from_home(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert await existing_directory(str(tmp_path / "a"), Path("/")) == tmp_path / "a"
    assert await existing_directory("~/a", tmp_path) == tmp_path / "a"
    assert await existing_directory("~", tmp_path) == tmp_path
    assert named_directory("~//etc", tmp_path) == tmp_path / "etc"


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("", "no absolute path"),
        ("a", "no absolute path"),
        ("~root/x", "no absolute path"),
        ("/a\0b", "no path"),
        ("/a\ud800", "no path"),
        ("/nowhere/at/all", "is not there"),
        ("/" + "x" * 300, "is not there"),
        ("/dev/null", "is not there"),
    ],
)
async def test_what_is_no_directory_is_refused_in_words(named: str, words: str) -> None:
    with pytest.raises(BadPlace, match=words):
        await existing_directory(named, Path("/"))


async def test_a_directory_that_does_not_answer_is_refused(
    monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    hung, let_go = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def hangs(_: Path) -> bool:
        token.run_sync_soon(hung.set)
        return let_go.wait(30)

    async def ask() -> None:
        with pytest.raises(BadPlace, match="does not answer"):
            await existing_directory("/share", Path("/"))

    monkeypatch.setattr(places, "_is_directory", hangs)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await hung.wait()
            mock_clock.jump(places.LIMIT_SECONDS)
    finally:
        let_go.set()
