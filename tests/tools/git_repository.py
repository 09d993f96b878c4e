"""Real git repositories for tests, made by the ``git`` program."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

HOSTILE = [b"with space", b"new\nline\n", b"-leading", b"\xff\xfe", b'"quoted"', "ünïcode".encode()]


def run_git(path: Path, *arguments: str) -> str:
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A Person"), ("EMAIL", "a@example.org"))
    }
    result = subprocess.run(
        ["git", "-C", str(path), *arguments],
        check=True,
        capture_output=True,
        text=True,
        errors="replace",
        env={"PATH": os.environ["PATH"], "HOME": str(path), **identity},
    )
    return result.stdout.strip()


def make_repository(path: Path) -> Path:
    path.mkdir(parents=True)
    return initialize(path)


def initialize(path: Path) -> Path:
    """Make an existing directory a repository: a copy of one that git has made, once a process."""
    shutil.copytree(_empty(), path / ".git", copy_function=shutil.copy)
    return path


def begin(
    path: Path, files: Mapping[str, str], message: str = "first", *, named: bool = False
) -> str:
    """Make a directory a repository with these files as its first commit; returns its id.

    ``named``: a person of its own commits there. Whatever is asked for twice is a copy.
    """
    made, sha = _begun(tuple(files.items()), message, named)
    shutil.copytree(made, path, copy_function=shutil.copy, dirs_exist_ok=True)
    run_git(path, "update-index", "--refresh")  # it knows files by more than their contents
    return sha


def begun(path: Path, files: Mapping[str, str], message: str = "first") -> Path:
    """Make a directory a repository, as ``begin`` does; returns it."""
    begin(path, files, message)
    return path


@cache
def _empty() -> Path:
    """What ``git init`` makes, without its examples of hooks."""
    place = _scratch()
    run_git(place, "init", "--quiet", "--initial-branch=main")
    for example in (place / ".git/hooks").glob("*.sample"):
        example.unlink()
    return place / ".git"


@cache
def _begun(files: tuple[tuple[str, str], ...], message: str, named: bool) -> tuple[Path, str]:
    place = initialize(_scratch())
    if named:
        run_git(place, "config", "user.name", "A Person")
        run_git(place, "config", "user.email", "a@example.org")
    for name, content in files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
    return place, commit(place, message)


def _scratch() -> Path:
    """A directory for as long as this process lives."""
    place = Path(tempfile.mkdtemp(prefix="podium-git-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def commit(path: Path, message: str) -> str:
    run_git(path, "add", "--all")
    # What git does now and then to keep a repository small is a process more each time.
    given = ("--quiet", "--allow-empty", "--message", message)
    run_git(path, "-c", "maintenance.auto=false", "commit", *given)
    return _tip(path / ".git") or run_git(path, "rev-parse", "HEAD")


def _tip(git: Path) -> str:
    """The commit of the branch that was committed to just now, where its file says so."""
    head = git / "HEAD"
    branch = git / head.read_text().removeprefix("ref: ").strip() if head.is_file() else head
    return branch.read_text().strip() if branch.is_file() and branch != head else ""


def set_for_person(home: Path, key: str, value: str) -> None:
    """Set something in the person's own settings, whose ``home`` this is."""
    file = home / ".gitconfig"
    subprocess.run(["git", "config", "--file", f"{file}", key, value], check=True)
