"""Real git repositories for tests, made by the ``git`` program."""

from __future__ import annotations

import os
import subprocess
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
    run_git(path, "init", "--quiet", "--initial-branch=main")
    return path


def commit(path: Path, message: str) -> str:
    run_git(path, "add", "--all")
    run_git(path, "commit", "--quiet", "--allow-empty", "--message", message)
    return run_git(path, "rev-parse", "HEAD")


def set_for_person(home: Path, key: str, value: str) -> None:
    """Set something in the person's own settings, whose ``home`` this is."""
    file = home / ".gitconfig"
    subprocess.run(["git", "config", "--file", f"{file}", key, value], check=True)
