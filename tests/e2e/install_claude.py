"""Install the pinned ``claude`` binary for the tests and print its path.

Usage: ``python tests/e2e/install_claude.py [DIR]`` (DIR: ``.cache/claude`` of the checkout).

The npm platform package holds the bare native binary: no install script runs, and Node.js is
not needed to run it.  Where there is no npm, or it cannot reach its registry, the binary is taken
out of the wheel of ``claude-agent-sdk``, which pip alone can fetch; that release bundles another
version, which the directory's name says.  Running it again costs nothing: what is there is used.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NPM_VERSION = "2.1.328"
SDK_VERSION = "0.2.187"
SDK_BUNDLES = "2.1.330"
DEFAULT_ROOT = Path(__file__).resolve().parents[2] / ".cache" / "claude"
INSTALL_SECONDS = 600
BUNDLED_BINARY = "claude_agent_sdk/_bundled/claude"

_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class InstallError(Exception):
    """The binary could not be installed; the text says why and what to do."""


def platform_name(system: str, machine: str, *, musl: bool) -> str:
    """Return npm's name of a platform, such as ``linux-x64-musl``.

    Raises:
        InstallError: there is no build for this platform.
    """
    try:
        name = f"{_SYSTEMS[system]}-{_MACHINES[machine.lower()]}"
    except KeyError:
        raise InstallError(
            f"no claude build is known for {system} on {machine} "
            "(known: Linux and Darwin on x86_64 and arm64); set CLAUDE_BIN to a binary of your own"
        ) from None
    return f"{name}-musl" if musl else name


def uses_musl() -> bool:
    """Say whether this Linux has musl in place of glibc (Alpine)."""
    return sys.platform == "linux" and any(Path("/lib").glob("ld-musl-*.so.1"))


def installed(root: Path) -> Path | None:
    """Return the binary that is already under ``root``, the npm version first."""
    for version in (NPM_VERSION, SDK_BUNDLES):
        binary = root / version / "claude"
        if os.access(binary, os.X_OK):
            return binary
    return None


def install(root: Path = DEFAULT_ROOT) -> Path:
    """Return the path of the pinned binary, installing it under ``root`` when it is not there.

    The binary is moved into place only when it is whole and runs, so an installation that was
    broken off, or two at once, leave nothing half done.

    Raises:
        InstallError: no build for this platform, no npm and no pip, or the download failed.
    """
    root = root.resolve()
    found = installed(root)
    if found is not None:
        return found
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="installing-", dir=root) as name:
        version, binary = _fetch(Path(name))
        binary.chmod(0o755)
        _check(binary, version)
        target = root / version / "claude"
        target.parent.mkdir(exist_ok=True)
        binary.replace(target)
    return target


def _fetch(staging: Path) -> tuple[str, Path]:
    npm = shutil.which("npm")
    if npm is None:
        return SDK_BUNDLES, _from_wheel(staging)
    try:
        return NPM_VERSION, _from_npm(npm, staging)
    except InstallError as error:
        failed = error
    print(f"install_claude: {failed}\nNow by pip, {SDK_BUNDLES}.", file=sys.stderr)
    try:
        return SDK_BUNDLES, _from_wheel(staging)
    except InstallError as error:
        raise InstallError(f"{failed}\nand then: {error}") from None


def _from_npm(npm: str, staging: Path) -> Path:
    name = platform_name(platform.system(), platform.machine(), musl=uses_musl())
    package = f"@anthropic-ai/claude-code-{name}"
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"]
    run([npm, "install", "--prefix", str(staging), *quiet, f"{package}@{NPM_VERSION}"])
    return _present(staging / "node_modules" / package / "claude", f"the npm package {package}")


def _from_wheel(staging: Path) -> Path:
    where = ["--dest", str(staging), "--disable-pip-version-check", "--only-binary", ":all:"]
    wanted = f"claude-agent-sdk=={SDK_VERSION}"
    run([sys.executable, "-m", "pip", "download", "--no-deps", *where, wanted])
    wheels = list(staging.glob("*.whl"))
    if len(wheels) != 1:
        raise InstallError(f"pip brought {len(wheels)} wheels of {wanted}, expected one")
    with zipfile.ZipFile(wheels[0]) as wheel:
        if BUNDLED_BINARY not in wheel.namelist():
            raise InstallError(
                f"{wheels[0].name} holds no {BUNDLED_BINARY}: no binary for this platform; "
                "install npm, or set CLAUDE_BIN"
            )
        wheel.extract(BUNDLED_BINARY, staging)
    return _present(staging / BUNDLED_BINARY, wheels[0].name)


def _present(binary: Path, source: str) -> Path:
    if not binary.is_file():
        raise InstallError(f"{source} was fetched but holds no file {binary.name}")
    return binary


def _check(binary: Path, version: str) -> None:
    said = run([str(binary), "--version"]).split(" ")[0].strip()
    if said != version:
        raise InstallError(f"the binary that was fetched says version {said!r}, expected {version}")


def run(command: list[str], variable: str = "CLAUDE_BIN") -> str:
    """Run a command of an installation and return its output; ``variable`` spares it.

    Raises:
        InstallError: it could not be run, or failed.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallError(f"could not run {command[0]}: {error}") from error
    if done.returncode != 0:
        raise InstallError(
            f"{' '.join(command)} ended with {done.returncode}:\n{(done.stderr or done.stdout)}"
            f"\ncheck the network and the registry, or set {variable} to a binary of your own"
        )
    return done.stdout


def main(arguments: list[str]) -> int:
    """Install and print the path; return the exit status."""
    try:
        print(install(Path(arguments[0]) if arguments else DEFAULT_ROOT))
    except InstallError as error:
        print(f"install_claude: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
