"""``make run``: a private daemon plays a whole recipe in a scratch repository, for all to see.

Everything is real but the agent, which is the built-in scripted one: the daemon, its socket, the
state machine, the store, the files and the commits. Nothing of the person's own is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RECIPE = "implement-and-review"
_KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "NO_COLOR", "COLUMNS")

NEXT = """
That was the scripted agent. With a real one, in a repository of your own:

    podium up
    cd your/repository
    podium chat
    podium run {recipe}

`podium chat` talks with Podium's own agent: it needs a model's key, or a model
on your machine. The recipe needs Claude Code (`claude`) on your PATH, logged
in; with `--agent native` it does not. This shows what will happen, and
`podium --help` everything else:

    podium recipe show {recipe}

The demo's repository stays for you to look at:

    cd {repository}
    git log --stat
"""


def main() -> int:
    """Play the demo; the exit status is the run's, or 1 if its commits are missing."""
    if shutil.which("git") is None:
        print("podium demo: git is needed and was not found on PATH.", file=sys.stderr)
        return 1
    scratch = Path(tempfile.mkdtemp(prefix="podium-demo-"))
    environment = _environment(scratch)
    repository = _make_repository(scratch / "shop", environment)
    status = _podium(environment, "up")
    if status != 0:
        return status
    try:
        print(f"\n$ cd {repository}", end="")
        status = _podium(environment, "run", RECIPE, "--agent", "scripted", where=repository)
    finally:
        _podium(environment, "down")
        shutil.rmtree(scratch / "podium", ignore_errors=True)
        shutil.rmtree(scratch / "home", ignore_errors=True)
    print("\nThe commits that it made:")
    sys.stdout.flush()
    _git(repository, environment, "--no-pager", "log", "--oneline", "--stat")
    made = int(_git(repository, environment, "rev-list", "--count", "HEAD", stdout=subprocess.PIPE))
    if status == 0 and made < 2:
        print("podium demo: the recipe ended well, but there is no commit.", file=sys.stderr)
        return 1
    if status == 0:
        print(NEXT.format(recipe=RECIPE, repository=repository))
    return status


def _environment(scratch: Path) -> dict[str, str]:
    home, podium = scratch / "home", scratch / "podium"
    home.mkdir()
    podium.mkdir(mode=0o700)
    # A phone has nothing to see here, and the port may be a real daemon's.
    # Podium's own agent is scripted too: none is missed that the demo has no use for.
    (podium / "config.toml").write_text(
        '[gateway]\nenabled = false\n\n[agents.native]\nprovider = "scripted"\n'
    )
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "HOME": str(home), "PODIUM_HOME": str(podium)}


def _make_repository(path: Path, environment: dict[str, str]) -> Path:
    path.mkdir()
    (path / "README.md").write_text("# Shop\n\nA small shop, to show Podium at work.\n")
    _git(path, environment, "init", "--quiet", "--initial-branch=main")
    _git(path, environment, "config", "user.name", "Podium demo")
    _git(path, environment, "config", "user.email", "demo@podium.invalid")
    _git(path, environment, "add", "README.md")
    _git(path, environment, "commit", "--quiet", "--message=A shop begins")
    return path


def _podium(environment: dict[str, str], *arguments: str, where: Path | None = None) -> int:
    print(f"\n$ podium {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "podium", *arguments]
    return subprocess.run(command, env=environment, cwd=where, check=False).returncode


def _git(
    where: Path, environment: dict[str, str], *arguments: str, stdout: int | None = None
) -> str:
    command = ["git", "-C", str(where), *arguments]
    done = subprocess.run(command, env=environment, check=True, stdout=stdout, text=True)
    return done.stdout or ""


if __name__ == "__main__":
    sys.exit(main())
