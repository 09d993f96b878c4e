"""Install the pinned Kimi Code for the tests and print its program.

Usage: ``python -m tests.e2e.install_kimi [DIR]`` (DIR: ``.cache/kimi`` of the checkout).

It is JavaScript in an npm package (120 MB), and runs on the Node.js that the environment of the
tests has. No install script of it is run. Running it again costs nothing: what is there is used.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.e2e.install_claude import InstallError, run

VERSION: Final = "2.1.0"
PACKAGE: Final = "@moonshot-ai/kimi-code"
DEFAULT_ROOT: Final = Path(__file__).resolve().parents[2] / ".cache" / "kimi"
VARIABLE: Final = "KIMI_JS"
PROGRAM: Final = f"node_modules/{PACKAGE}/dist/main.mjs"


def install(root: Path = DEFAULT_ROOT) -> Path:
    """Return the path of the pinned program, installing it under ``root`` when it is not there.

    Raises:
        InstallError: no npm, or a download that failed.
    """
    root = root.resolve()
    program = root / VERSION / PROGRAM
    if program.exists():
        return program
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"kimi comes by npm, and there is none: install it, or set {VARIABLE}")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="installing-", dir=root) as staging:
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save")
        run([npm, "install", "--prefix", staging, *options, f"{PACKAGE}@{VERSION}"], VARIABLE)
        if not Path(staging, PROGRAM).is_file():
            raise InstallError(f"the npm package {PACKAGE} was fetched but holds no {PROGRAM}")
        try:
            Path(staging).rename(root / VERSION)
        except OSError:  # somebody else was quicker
            if not program.exists():
                raise
        else:
            Path(staging).mkdir()  # for the directory's own end
    return program


def node() -> Path:
    """Return the Node.js of the environment of the tests.

    Raises:
        InstallError: it has none.
    """
    found = Path(sys.executable).with_name("node")
    if not os.access(found, os.X_OK):
        raise InstallError(f"kimi runs on Node.js, and {found} is none: make environment")
    return found


def main(arguments: list[str]) -> int:
    """Install and print the path; return the exit status."""
    try:
        print(install(Path(arguments[0]) if arguments else DEFAULT_ROOT))
    except InstallError as error:
        print(f"install_kimi: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
