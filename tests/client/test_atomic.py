"""Files of the client's commands: whole or not at all."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from podium import atomic
from tests.client.fake_daemon import FakeDaemon, podium


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def full(_descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_new_file_has_all_of_it_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    atomic.write(str(tmp_path / "a.html"), b"page")

    assert (tmp_path / "a.html").read_bytes() == b"page"
    assert names(tmp_path) == ["a.html"]


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    old = tmp_path / "a.html"
    old.write_bytes(b"a longer old page")
    old.chmod(0o640)
    atomic.write(str(old), b"page")

    assert (old.read_bytes(), old.stat().st_mode & 0o777) == (b"page", 0o640)


@pytest.mark.parametrize("replace", [True, False])
def test_what_cannot_be_written_whole_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    old = tmp_path / "a.html"
    old.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    target = old if replace else tmp_path / "b.html"
    with pytest.raises(OSError, match="No space left"):
        atomic.write(str(target), b"page", replace=replace)

    assert (old.read_bytes(), names(tmp_path)) == (b"old", ["a.html"])


@pytest.mark.parametrize("links", [True, False])
def test_what_is_there_is_kept_where_it_is_not_to_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def unsupported(_source: str, _target: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(os, "link", unsupported)
    atomic.write(str(tmp_path / "a"), b"first", replace=False)
    with pytest.raises(FileExistsError):
        atomic.write(str(tmp_path / "a"), b"second", replace=False)

    assert ((tmp_path / "a").read_bytes(), names(tmp_path)) == (b"first", ["a"])


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "page").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real/page")
    atomic.write(str(tmp_path / "link"), b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "page").read_bytes() == b"new"


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    atomic.write(str(fifo), b"page")
    reader.join()

    assert (read, names(tmp_path)) == ([b"page"], ["fifo"])


def test_a_name_as_long_as_can_be_is_written_too(tmp_path: Path) -> None:
    name = "ü" * 127
    atomic.write(str(tmp_path / name), b"page")

    assert names(tmp_path) == [name]


def test_a_place_that_is_not_there_is_named_by_the_graph_command(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    daemon.answers["recipes.graph"] = {"text": "flowchart TD"}
    output = str(tmp_path / "nowhere" / "a.mmd")

    done = podium(daemon, "recipe", "graph", "fix-it", "--output", output)

    assert done.returncode == 1
    assert f"'{output}' cannot be written: No such file or directory." in done.stderr
