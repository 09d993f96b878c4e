"""What keeps the daemon from starting is said in a sentence."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from podiumd.config.load import Loaded, load
from podiumd.config.paths import prepare
from podiumd.daemon import app


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    home = tmp_path / "home"
    home.mkdir()
    environ = {"HOME": str(home), "PODIUM_HOME": str(tmp_path / "podium")}
    found = load(environ, sys.platform, home, None)
    prepare(found.places, os.getuid())
    return found


def start(loaded: Loaded) -> None:
    app.run(loaded.config, loaded.places, {"HOME": str(loaded.places.state.parent)})


@pytest.mark.parametrize("what", ["hold_lock", "listening", "LeaseBook", "open_store"])
def test_a_full_disk_is_named_wherever_it_is_met(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(app, what, full)
    with pytest.raises(app.CannotStart, match=r"^The disk of .* is full. Free some space\.$"):
        start(loaded)


def test_another_fault_of_the_system_is_not_taken_for_a_full_disk(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(app, "hold_lock", broken)
    with pytest.raises(OSError, match="Input/output error"):
        start(loaded)
