"""The command that runs a project's tests: the configured one, or one detected from its files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shutil import which

import msgspec

from podiumd.tools.agent.workspace import Refused, Workspace

_MAKE_TARGET = re.compile(rb"^(?P<name>test|check)[ \t]*:(?!=)", re.MULTILINE)
_PYTEST_FILES = ("pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py")
_PYTHON_FILES = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "requirements.txt",
                 "requirements-dev.txt", "dev-requirements.txt")  # fmt: skip
_NODE_RUNNERS = (
    ("pnpm-lock.yaml", ["pnpm", "test"]),
    ("yarn.lock", ["yarn", "test"]),
    ("bun.lock", ["bun", "run", "test"]),
    ("bun.lockb", ["bun", "run", "test"]),
    ("package.json", ["npm", "test", "--"]),
)


def detect_test_command(
    workspace: Workspace, configured: str, pattern: str | None, environ: Mapping[str, str]
) -> list[str]:
    """Find the arguments that run the tests, or those that ``pattern`` names. Blocks.

    The pattern is an argument of its own; no shell reads it. Parameters: ``configured`` is a
    command line of the user's own, empty to look at the files; ``environ`` gives PATH. Raises
    ``Refused`` where no tests are found, and for a pattern that would be an option.
    """
    if pattern is not None and (pattern.startswith("-") or not pattern.strip() or "\0" in pattern):
        raise Refused("the pattern is empty or begins with '-'; name a test or a file")
    if configured:
        try:
            return [*shlex.split(configured), *([pattern] if pattern else [])]
        except ValueError as error:
            raise Refused(f"test_command in the settings cannot be read: {error}") from None
    project = _Project(workspace, environ)
    for detected in (_python, _node, _go, _rust, _make):
        found = detected(project, pattern)
        if found:
            return found
    raise Refused(
        "no tests are found here: no Python tests, no package.json with a test script, no go.mod, "
        "Cargo.toml or Makefile with a target 'test'; set test_command for the native agent"
    )


class _Project:
    """The files in the root of a project."""

    def __init__(self, workspace: Workspace, environ: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._environ = environ

    def text(self, name: str) -> bytes:
        """Read the content of a file; empty where there is none that can be read."""
        with suppress(Refused):
            found = self._workspace.find(name)
            return found.data if found else b""
        return b""

    def has(self, name: str) -> bool:
        with suppress(Refused):
            return self._workspace.find(name) is not None
        return False

    def any_of(self, glob: str) -> bool:
        return next(iter(self._workspace.root.glob(glob)), None) is not None

    def exists(self, path: str) -> bool:
        with suppress(OSError):  # too long, or in a directory that may not be entered
            return (self._workspace.root / path).exists()
        return False

    def python(self) -> str:
        """Return the project's own interpreter, or the one on PATH."""
        for name in (".venv", "venv"):
            if (self._workspace.root / name / "bin/python").exists():
                return f"{Path(name, 'bin/python')}"
        return "python3" if which("python3", path=self._environ.get("PATH")) else "python"


def _python(project: _Project, pattern: str | None) -> list[str]:
    told = any(b"pytest" in project.text(name) for name in _PYTHON_FILES)
    if told or any(map(project.has, _PYTEST_FILES)):
        command = [project.python(), "-m", "pytest"]
        if pattern is None:
            return command
        named = "::" in pattern or project.exists(pattern)
        return [*command, pattern] if named else [*command, "-k", pattern]
    folder = next((name for name in ("tests", "test") if project.any_of(f"{name}/test*.py")), None)
    if folder is None and not project.any_of("test*.py"):
        return []
    # Tests in a folder that is no package are not found from the root.
    apart = folder is not None and not project.has(f"{folder}/__init__.py")
    start = ["discover", "-s", f"{folder}", "-t", "."] if folder and not apart else []
    start = ["discover", "-s", f"{folder}"] if apart else start
    chosen = ["-k", pattern] if pattern else []
    return [project.python(), "-m", "unittest", *start, *chosen]


def _node(project: _Project, pattern: str | None) -> list[str]:
    try:
        script = msgspec.json.decode(project.text("package.json"))["scripts"]["test"]
    except (msgspec.DecodeError, LookupError, TypeError):
        return []
    if not isinstance(script, str) or "no test specified" in script:
        return []
    runner = next(command for file, command in _NODE_RUNNERS if project.has(file))
    return [*runner, pattern] if pattern else [word for word in runner if word != "--"]


def _go(project: _Project, pattern: str | None) -> list[str]:
    if not project.has("go.mod"):
        return []
    if pattern is None:
        return ["go", "test", "./..."]
    if pattern.startswith("./"):
        return ["go", "test", pattern]
    return ["go", "test", "-run", pattern, "./..."]


def _rust(project: _Project, pattern: str | None) -> list[str]:
    if not project.has("Cargo.toml"):
        return []
    return ["cargo", "test", *([pattern] if pattern else [])]


def _make(project: _Project, pattern: str | None) -> list[str]:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        target = _MAKE_TARGET.search(project.text(name))
        if target is not None:
            if pattern is not None:
                raise Refused("make runs all tests or none; leave the pattern out")
            return ["make", target["name"].decode()]
    return []
