"""Write the web client's vendored files anew from npm: ``make vendor``.

Each package is checked against its integrity, each file against its digest in ``vendor.toml``. A
file whose digest there is another is not written, and its digest is printed.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parents[2] / "client/web/vendor"
LIST = PLACE / "vendor.toml"
IMPORT = re.compile(rb'\bfrom"([^"./][^"]*)"')
MAP_LINE = re.compile(rb"\n//# sourceMappingURL=[^\n]*\n?\Z")


def listed() -> dict[str, Any]:
    """The list of packages and files."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def as_vendored(body: bytes, imports: dict[str, str]) -> bytes:
    """A published file as it stands here."""

    def rewritten(match: re.Match[bytes]) -> bytes:
        return b'from"%b"' % imports[match[1].decode()].encode()

    return IMPORT.sub(rewritten, MAP_LINE.sub(b"\n", body))


def fetched(name: str, package: dict[str, str], folder: Path) -> tarfile.TarFile:
    """The package's archive, checked. Raises ValueError: it is not the one that was listed."""
    wanted = f"{name}@{package['version']}"
    packed = subprocess.run(
        ["npm", "pack", "--silent", "--ignore-scripts", wanted],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    archive = folder / packed.stdout.strip()
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != package["integrity"]:
        raise ValueError(f"{wanted} is not what it was: its integrity is sha512-{digest}")
    return tarfile.open(archive)


def main() -> int:
    """Write the files; how many were not as listed."""
    wrong, known = 0, listed()
    with tempfile.TemporaryDirectory() as folder:
        packages = {
            name: fetched(name, package, Path(folder))
            for name, package in known["packages"].items()
        }
        for name, file in known["files"].items():
            member = packages[file["package"]].extractfile(f"package/{file['path']}")
            assert member is not None, file
            body = member.read()
            if name.endswith(".js"):
                body = as_vendored(body, known["imports"])
            digest = hashlib.sha256(body).hexdigest()
            if digest == file["sha256"]:
                (PLACE / name).write_bytes(body)
            else:
                wrong += 1
                print(f"{name}: not written, its sha256 is {digest}")
    return wrong


if __name__ == "__main__":
    if sys.argv[1:] == ["--packages"]:
        print(*(f"{name}@{package['version']}" for name, package in listed()["packages"].items()))
    else:
        sys.exit(main())
