"""Files for the user's own eyes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podiumd.tools.files.private_file import write_private


@pytest.fixture(autouse=True)
def careless() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("before", [None, "open", "link"])
def test_a_private_file_is_closed_to_others_whatever_stood_there(
    tmp_path: Path, before: str | None
) -> None:
    path, elsewhere = tmp_path / "file", tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    if before == "open":
        path.write_text("old")
    elif before == "link":
        path.symlink_to(elsewhere)

    write_private(path, "ours \ud800")

    assert path.read_text() == "ours ?"
    assert path.lstat().st_mode & 0o7777 == 0o600
    assert elsewhere.read_text() == "theirs"
