"""Somebody for the doctor to look at: a home of its own, and a tree that tells when it changed."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from podiumd.config.load import with_values
from podiumd.config.paths import prepare, resolve
from podiumd.config.settings import Config
from podiumd.doctor.subject import Daemon, Subject
from podiumd.observe.checks import Check

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def subject(home: Path, **changes: Any) -> Subject:
    """A person's Podium that was started once and is down now."""
    environ = {"HOME": str(home), "PATH": str(home / "bin"), "USER": "ada"}
    places = resolve(environ, "linux", home)
    prepare(places, os.getuid())
    made = Subject(
        config=Config(),
        places=places,
        environ=environ,
        daemon_environ=environ,
        home=home,
        uid=os.getuid(),
        platform=sys.platform,
        now=NOW,
        daemon=Daemon(),
    )
    return replace(made, **changes)


def with_settings(patient: Subject, **settings: Any) -> Subject:
    """The same with other settings; ``__`` stands for a dot."""
    values = {name.replace("__", "."): value for name, value in settings.items()}
    return replace(patient, config=with_values(patient.config, values))


def program(home: Path, name: str, script: str) -> Path:
    """A program on the person's PATH."""
    path = home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def states(checks: list[Check]) -> list[str]:
    return [one.state for one in checks]


def only(checks: list[Check]) -> Check:
    (found,) = checks
    assert found.fix or found.state == "ok", "what is not well has a fix"
    return found


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Every path below ``root`` with its mode, its owner, its time of change and its content."""
    return dict(_entries(root))


def _entries(root: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    for path in sorted([root, *root.rglob("*")]):
        found = path.lstat()
        content: object = None
        if stat.S_ISREG(found.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(found.st_mode):
            content = path.readlink()
        yield str(path), (found.st_mode, found.st_uid, found.st_mtime_ns, content)
