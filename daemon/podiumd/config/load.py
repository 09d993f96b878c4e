"""Read the configuration: built-in defaults, then the file, then the environment.

Every fault names where it is, what was expected and what came, and all faults come at once.
"""

from __future__ import annotations

import errno
import functools
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

from podiumd.config.paths import Places, resolve
from podiumd.config.settings import Config
from podiumd.config.variables import PREFIX, unknown
from podiumd.core.findings import nearest
from podiumd.core.toml_lines import TomlLines
from podiumd.tools.files.believed import fault_of
from podiumd.wording import convert, quoted, shown

_LARGEST_FILE_BYTES: Final = 1024 * 1024
_LISTED_FAULTS: Final = 20
_SENTENCE_CHARACTERS: Final = 200  # of the parser's; some repeat a key of the file, however long
_SWITCH: Final = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}
_FROM_TEXT: Final = (bool, int, str)
"""The kinds of setting that a variable can hold."""

KeyPath = tuple[str, ...]


class ConfigError(Exception):
    """The configuration cannot be used: one line a fault, each naming its place."""

    def __init__(self, faults: list[str]) -> None:
        listed = faults[:_LISTED_FAULTS]
        if len(faults) > _LISTED_FAULTS:
            listed.append(f"... and {len(faults) - _LISTED_FAULTS} more")
        super().__init__("\n".join(listed))
        self.faults = tuple(faults)


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The effective configuration. ``sources`` says for each dotted key where its value is from:
    ``default``, ``FILE:LINE`` or ``environment NAME``; ``warnings`` what has no effect."""

    config: Config
    places: Places
    sources: dict[str, str]
    warnings: tuple[str, ...] = ()


def load(
    environ: Mapping[str, str], platform: str, home: Path, config_flag: str | None = None
) -> Loaded:
    """Build the configuration. Raises ``ConfigError`` and ``podiumd.config.paths.PlaceError``.

    A file that the person named must exist; without the usual one all defaults hold.
    """
    places = resolve(environ, platform, home, config_flag)
    reader = _Reader(places.config)
    text = _read_text(places)
    if text is not None:
        reader.read_file(text)
    reader.read_environment(environ)
    config = reader.finish()
    return Loaded(
        config=config,
        places=places,
        sources=reader.sources,
        warnings=ignored_variables(environ),
    )


def ignored_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each variable that seems to be a setting, and has no effect."""
    settings = {_variable(path): ".".join(path) for path in _leaves(Config)}
    defaults = flatten(Config())
    for_the_file = [
        f"environment {name}: it has no effect; {key} is a list or table, which belongs in the file"
        for name, key in settings.items()
        if name in environ and type(defaults[key]) not in _FROM_TEXT
    ]
    return (*for_the_file, *unknown(environ, settings))


def flatten(config: Config) -> dict[str, Any]:
    """Every setting by its dotted name, as plain data; whole seconds as integers."""
    flat: dict[str, Any] = {}
    for key, value in values_of(config).items():
        plain = int(value) if isinstance(value, float) and value.is_integer() else value
        flat[key] = list(plain) if isinstance(plain, tuple) else plain
    return flat


def values_of(config: Config) -> dict[str, Any]:
    """Every setting by its dotted name, as ``Config`` has it."""
    values: dict[str, Any] = {}
    for path in _leaves(Config):
        value: Any = config
        for name in path:
            value = getattr(value, name)
        values[".".join(path)] = value
    return values


def with_values(config: Config, changed: Mapping[str, Any]) -> Config:
    """The configuration with some of its settings, by dotted name, exchanged for others that have
    been checked."""
    values = values_of(config) | dict(changed)
    built: Config = _build(Config, {tuple(key.split(".")): values[key] for key in values}, ())
    return built


def _read_text(places: Places) -> str | None:
    path = places.config
    try:
        with path.open("rb") as file:
            _believe(path, os.fstat(file.fileno()))
            data = file.read(_LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        if places.config_required:
            raise ConfigError([f"{path}: this configuration file does not exist"]) from None
        return None
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise ConfigError([f"{path}: the configuration cannot be read: {reason}"]) from None
    if len(data) > _LARGEST_FILE_BYTES:
        raise ConfigError([f"{path}: larger than 1 MiB, which no configuration is"])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError([f"{path}:{line}: not UTF-8 text"]) from None


def _believe(path: Path, found: os.stat_result) -> None:
    """Refuse a file that others can write, or that lies where they can put another; of a link both
    where it stands and where it leads."""
    folders = dict.fromkeys((path.parent, path.resolve().parent))
    for place, status in ((path, found), *((one, one.stat()) for one in folders)):
        fault = fault_of(status, os.getuid())
        if fault is not None:
            raise ConfigError([f"{place}: the configuration names programs, and {fault}"])


class _Reader:
    """Collects checked values, their sources and the faults of all sources."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._values: dict[KeyPath, Any] = {}
        self._faults: list[str] = []
        self.sources = {".".join(path): "default" for path in _leaves(Config)}

    def read_file(self, text: str) -> None:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError([_syntax_fault(self._file, text, error)]) from None
        except (RecursionError, ValueError):
            raise ConfigError(
                [f"{self._file}:1: nested too deeply, or a number too large to read"]
            ) from None
        self._read_table(Config, data, (), TomlLines(text))

    def _read_table(
        self, section: type[msgspec.Struct], table: Any, path: KeyPath, lines: TomlLines
    ) -> None:
        kinds = _kinds(section)
        for name, value in table.items():
            key = (*path, name)
            place = f"{self._file}:{lines.of(key)}"
            dotted = ".".join(quoted(part)[1:-1] for part in key)
            if name not in kinds:
                self._faults.append(f"{place}: unknown key '{dotted}'; {nearest(name, kinds)}")
            elif not _is_section(kinds[name]):
                self._take(key, kinds[name], value, place, f"{place}: {dotted}")
            elif isinstance(value, dict):
                self._read_table(kinds[name], value, key, lines)
            else:
                self._faults.append(f"{place}: {dotted}: expected a table, got {shown(value)}")

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Take single values from ``PODIUM_SECTION_KEY``; tables and lists belong in the file."""
        defaults = flatten(Config())
        for path, kind in _leaves(Config).items():
            name = _variable(path)
            base = type(defaults[".".join(path)])
            if name in environ and base in _FROM_TEXT:
                value = _from_text(environ[name], base)
                self._take(path, kind, value, f"environment {name}", f"environment {name}")

    def _take(self, path: KeyPath, kind: Any, value: Any, source: str, where: str) -> None:
        try:
            self._values[path] = convert(value, kind)
        except ValueError as error:
            self._faults.append(f"{where}: {error}")
        else:
            self.sources[".".join(path)] = source

    def finish(self) -> Config:
        if self._faults:
            raise ConfigError(self._faults)
        config: Config = _build(Config, self._values, ())
        self._check_together(config)
        return config

    def _check_together(self, config: Config) -> None:
        gateway = config.gateway
        if gateway.tls == "files" and not (gateway.cert_file and gateway.key_file):
            missing = "key_file" if gateway.cert_file else "cert_file"
            place = self.sources["gateway.tls"]
            raise ConfigError([f"{place}: gateway.tls: 'files' needs gateway.{missing}"])


def _syntax_fault(file: Path, text: str, error: tomllib.TOMLDecodeError) -> str:
    """The parser ends its sentence with "(at line L, column C)" or "(at end of document)"."""
    sentence, _, place = str(error).rpartition(" (at ")
    line = place.removeprefix("line ").partition(",")[0]
    number = line if line.isdigit() else str(text.count("\n") + 1)
    said = sentence[:_SENTENCE_CHARACTERS].encode("unicode_escape").decode("ascii")
    return f"{file}:{number}: not valid TOML: {said}"


def _variable(path: KeyPath) -> str:
    return PREFIX + "_".join(path).upper()


def _from_text(text: str, base: type) -> Any:
    """Read a variable as the type of the setting's default; what cannot be is left as text."""
    if base is bool:
        return _SWITCH.get(text.strip().lower(), text)
    if base is int:
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                continue
    return text


@functools.cache
def _kinds(section: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(section, include_extras=True)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _leaves(section: type[msgspec.Struct], path: KeyPath = ()) -> dict[KeyPath, Any]:
    found: dict[KeyPath, Any] = {}
    for name, kind in _kinds(section).items():
        if _is_section(kind):
            found |= _leaves(kind, (*path, name))
        else:
            found[(*path, name)] = kind
    return found


def _build(section: Any, values: Mapping[KeyPath, Any], path: KeyPath) -> Any:
    fields: dict[str, Any] = {}
    for name, kind in _kinds(section).items():
        key = (*path, name)
        if _is_section(kind):
            fields[name] = _build(kind, values, key)
        elif key in values:
            fields[name] = values[key]
    return section(**fields)
