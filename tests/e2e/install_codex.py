"""Install the pinned ``codex`` for the tests and print its path.

Usage: ``python -m tests.e2e.install_codex [DIR]`` (DIR: ``.cache/codex`` of the checkout).

The builds are versions of one npm package, named by their platform.  npm brings the tarball
(about 120 MB, 404 MB unpacked), nothing of it is run before its digest is the one that stands here,
and Node.js is not needed to run what is in it.  Running it again costs nothing: what is there is
used.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from tests.e2e.install_claude import InstallError, run

VERSION: Final = "0.169.0"
PACKAGE: Final = "@openai/codex"
DEFAULT_ROOT: Final = Path(__file__).resolve().parents[2] / ".cache" / "codex"
VARIABLE: Final = "CODEX_BIN"
BINARY: Final = "bin/codex"


class Build(NamedTuple):
    """A build of it: npm's name of the platform, the folder in the tarball, the SHA-512."""

    platform: str
    folder: str
    digest: str


BUILDS: Final = {
    ("Linux", "x86_64"): Build(
        "linux-x64",
        "x86_64-unknown-linux-musl",
        "o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww==",
    ),
    ("Linux", "arm64"): Build(
        "linux-arm64",
        "aarch64-unknown-linux-musl",
        "NZ/DaQUpcQmxmqee7Z9uC1rzw3GhSbooawcaTe1LN5Yk+WlinUKGdTXJgClRT/9ogQEEM9TWxYzvxPfj5G/xFg==",
    ),
    ("Darwin", "x86_64"): Build(
        "darwin-x64",
        "x86_64-apple-darwin",
        "K1FKSsSLl9v3z5TeagBQXyQRDBIGB5Jncy5dxsRxwT3aaTqN3AI8VrCfoxBxKMOOU9O2QX1vg7WkBwNVth/s9A==",
    ),
    ("Darwin", "arm64"): Build(
        "darwin-arm64",
        "aarch64-apple-darwin",
        "5WsWFBbVP78D+6FvNo1MMVxLPZdmcoQlqVJFrF4qx/TmvneLnMQKtLyXkUo54XOTDfoYKpNouTJ/F7gTVA8FnQ==",
    ),
}
_MACHINES: Final = {"amd64": "x86_64", "aarch64": "arm64"}


def build_for(system: str, machine: str) -> Build:
    """Return the build of a platform.

    Raises:
        InstallError: there is none.
    """
    name = machine.lower()
    try:
        return BUILDS[system, _MACHINES.get(name, name)]
    except KeyError:
        raise InstallError(
            f"no codex build is known for {system} on {machine} "
            f"(known: Linux and Darwin on x86_64 and arm64); set {VARIABLE} to a binary of your own"
        ) from None


def installed(root: Path) -> Path | None:
    """Return the binary that is already under ``root``."""
    binary = root / VERSION / BINARY
    return binary if os.access(binary, os.X_OK) else None


def install(root: Path = DEFAULT_ROOT) -> Path:
    """Return the path of the pinned binary, installing it under ``root`` when it is not there.

    What it needs lies beside it.  The whole is moved into place only when it runs, so an
    installation that was broken off, or two at once, leave nothing half done.

    Raises:
        InstallError: no build for this platform, no npm, a download that failed, or another one
            than expected.
    """
    root = root.resolve()
    found = installed(root)
    if found is not None:
        return found
    build = build_for(platform.system(), platform.machine())
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="installing-", dir=root) as name:
        whole = _unpack(_fetch(build, Path(name)), build, Path(name))
        _check(whole / BINARY)
        try:
            whole.rename(root / VERSION)
        except OSError:  # somebody else was quicker
            if installed(root) is None:
                raise
    return root / VERSION / BINARY


def _fetch(build: Build, staging: Path) -> Path:
    """Have npm bring the tarball, and compare its digest."""
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"codex comes by npm, and there is none: install it, or set {VARIABLE}")
    wanted = f"{PACKAGE}@{VERSION}-{build.platform}"
    run([npm, "pack", wanted, "--pack-destination", str(staging), "--ignore-scripts"], VARIABLE)
    brought = list(staging.glob("*.tgz"))
    if len(brought) != 1:
        raise InstallError(f"npm brought {len(brought)} tarballs of {wanted}, expected one")
    with brought[0].open("rb") as file:
        digest = base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode()
    if digest != build.digest:
        raise InstallError(f"{wanted} has the SHA-512 {digest}, expected {build.digest}")
    return brought[0]


def _unpack(tarball: Path, build: Build, staging: Path) -> Path:
    """Unpack what the build consists of and return its folder."""
    inner = f"package/vendor/{build.folder}"
    with tarfile.open(tarball) as archive:
        members = [one for one in archive.getmembers() if one.name.startswith(f"{inner}/")]
        archive.extractall(staging, members, filter="data")
    tarball.unlink()
    return staging / inner


def _check(binary: Path) -> None:
    if not binary.is_file():
        raise InstallError(f"the npm package {PACKAGE} was fetched but holds no {BINARY}")
    said = run([str(binary), "--version"], VARIABLE).strip()
    if said != f"codex-cli {VERSION}":
        raise InstallError(f"the binary that was fetched says {said!r}, expected {VERSION}")


def main(arguments: list[str]) -> int:
    """Install and print the path; return the exit status."""
    try:
        print(install(Path(arguments[0]) if arguments else DEFAULT_ROOT))
    except InstallError as error:
        print(f"install_codex: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
