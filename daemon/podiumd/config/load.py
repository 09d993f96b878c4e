"""Read the configuration: built-in defaults, then the file, then the environment.

Every fault names where it is, what was expected and what came, and all faults come at once.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import shutil
import stat
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec
from msgspec.structs import replace

from podiumd.agents.kind import ConfiguredAgent, Kind
from podiumd.agents.kinds import KINDS, known_agents
from podiumd.agents.settings import DRIVER, AgentName, Section
from podiumd.config.paths import Places, resolve
from podiumd.config.settings import Config
from podiumd.core.excerpt import MARK
from podiumd.core.findings import closest, nearest
from podiumd.core.toml_lines import TomlLines
from podiumd.tools.files.believed import fault_of
from podiumd.wording import convert, quoted, shown

PREFIX: Final = "PODIUM_"
_SHOWN_CHARACTERS: Final = 100
OTHER_VARIABLES: Final = frozenset(
    PREFIX + name
    for name in (
        *("HOME", "CONFIG", "SOCKET"),  # places
        *("SERVICE", "FAILPOINT"),  # from a service manager, from tests
        *("TURN", "TOOLS_TOKEN"),  # of an agent's turn, from which a daemon may be started
        *("DEBUG", "RECORDER"),  # of the client, whose shell starts the daemon
    )
)

_LARGEST_FILE_BYTES: Final = 1024 * 1024
_LISTED_FAULTS: Final = 20
_SENTENCE_CHARACTERS: Final = 200  # of the parser's; some repeat a key of the file, however long
_SWITCH: Final = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}
_FROM_TEXT: Final = (bool, int, str)
"""The kinds of setting that a variable can hold."""

KeyPath = tuple[str, ...]

AGENTS: Final = "agents"
"""The table of the agents' tables."""


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
    reader = _Reader(places.config, found_agents(environ))
    text = _read_text(places)
    if text is not None:
        reader.read_file(text)
    reader.read_environment(environ)
    config = reader.finish()
    return Loaded(
        config=config,
        places=places,
        sources=reader.sources,
        warnings=ignored_variables(environ, config),
    )


def found_agents(environ: Mapping[str, str]) -> dict[str, ConfiguredAgent]:
    """Return the agents that need no table for their programs are on PATH, by name."""
    path = environ.get("PATH", "")
    return {
        name: agent
        for name, agent in known_agents().items()
        if shutil.which(agent.plan.command[0], path=path) is not None
    }


def ignored_variables(environ: Mapping[str, str], config: Config | None = None) -> tuple[str, ...]:
    """Build a sentence for each variable that resembles a setting, and has no effect."""
    config = Config() if config is None else config
    defaults = flatten(config)
    settings = {_variable(key): key for key in values_of(config)}
    for_the_file = [
        f"environment {name}: it has no effect; {key} is a list or table, which belongs in the file"
        for name, key in settings.items()
        if name in environ and type(defaults[key]) not in _FROM_TEXT
    ]
    return (*for_the_file, *_unknown_variables(environ, settings))


def flatten(config: Config) -> dict[str, Any]:
    """Return every setting by its dotted name, as plain data; whole seconds as integers.

    The driver of an agent that is not called as its kind is one of them.
    """
    flat: dict[str, Any] = {}
    drivers = drivers_of(config)
    for key, value in values_of(config).items():
        driver = driver_key(key)
        if driver in drivers:
            flat.setdefault(driver, drivers[driver])
        plain = int(value) if isinstance(value, float) and value.is_integer() else value
        flat[key] = list(plain) if isinstance(plain, tuple) else plain
    return flat


def values_of(config: Config) -> dict[str, Any]:
    """List every setting by its dotted name, as ``Config`` has it."""
    values: dict[str, Any] = {}
    for path, table in _tables(config).items():
        values |= {
            ".".join((*path, name)): getattr(table, name) for name in table.__struct_fields__
        }
    return values


def drivers_of(config: Config) -> dict[str, str]:
    """Return the ``driver`` settings by dotted name, for the agents not called as their kind."""
    return {
        f"{AGENTS}.{name}.{DRIVER}": agent.kind.name
        for name, agent in config.agents.items()
        if name != agent.kind.name or not agent.kind.standing
    }


def driver_key(key: str) -> str:
    """Return the dotted name of an agent's ``driver`` setting, by that of one of its settings."""
    return f"{key.rpartition('.')[0]}.{DRIVER}"


def with_values(config: Config, changed: Mapping[str, Any]) -> Config:
    """Replace some settings of a configuration, by dotted name, with checked values."""
    fields: dict[str, Any] = {}
    agents = dict(config.agents)
    for path, table in _tables(config).items():
        new = {
            name: changed[key]
            for name in table.__struct_fields__
            if (key := ".".join((*path, name))) in changed
        }
        if new and path[0] == AGENTS:
            agents[path[1]] = replace(agents[path[1]], settings=replace(table, **new))
        elif new:
            fields[path[0]] = replace(table, **new)
    return replace(config, agents=agents, **fields)


def _tables(config: Config) -> dict[KeyPath, Section]:
    """Return each table of settings by its path, in the order in which they are shown."""
    found: dict[KeyPath, Section] = {
        (AGENTS, name): agent.settings for name, agent in config.agents.items()
    }
    return found | {(name,): getattr(config, name) for name in _SECTIONS}


def _read_text(places: Places) -> str | None:
    path = places.config
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            found = os.fstat(file.fileno())
            if stat.S_ISFIFO(found.st_mode):
                raise ConfigError([f"{path}: it is a pipe, and no regular file"])
            _believe(path, found)
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


def _without_waiting(path: str, flags: int) -> int:
    """Open also a pipe that no other program has open: a reload must not wait for one."""
    return os.open(path, flags | os.O_NONBLOCK)


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

    def __init__(self, file: Path, found: Mapping[str, ConfiguredAgent]) -> None:
        self._file = file
        self._lines = TomlLines("")
        self._config = Config()
        self._config.agents.update(found)
        self._values: dict[str, Any] = {}
        self._faults: list[str] = []
        self.sources = dict.fromkeys(flatten(self._config), "default")

    def read_file(self, text: str) -> None:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError([_syntax_fault(self._file, text, error)]) from None
        except (RecursionError, ValueError):
            raise ConfigError(
                [f"{self._file}:1: nested too deeply, or a number too large to read"]
            ) from None
        self._lines = TomlLines(text)
        for name, table in data.items():
            if name != AGENTS and name not in _SECTIONS:
                self._unknown((name,), (AGENTS, *_SECTIONS))
            elif not self._is_table((name,), table):
                continue
            elif name == AGENTS:
                self._read_agents(table)
            else:
                self._read_table((name,), _SECTIONS[name], table)

    def _read_agents(self, tables: dict[str, Any]) -> None:
        for name, table in tables.items():
            key = (AGENTS, name)
            kind = self._kind_of(key, table)
            if kind is None or not self._is_table(key, table):
                continue
            if name != kind.name or not kind.standing:
                self._config.agents[name] = ConfiguredAgent(name, kind, kind.settings_of(name))
                place = self._place((*key, DRIVER)) if DRIVER in table else "default"
                self.sources[f"{AGENTS}.{name}.{DRIVER}"] = place
                settings = (f"{AGENTS}.{name}.{one}" for one in kind.settings.__struct_fields__)
                self.sources |= dict.fromkeys(settings, "default")
            said = {one: value for one, value in table.items() if one != DRIVER}
            self._read_table(key, kind.settings, said)

    def _kind_of(self, key: KeyPath, table: Any) -> Kind | None:
        """Return the kind of an agent by its name, or by its table; a missing one is a fault."""
        name, known = key[1], self._config.agents
        said = table.get(DRIVER) if isinstance(table, dict) else None
        usual = known_agents().get(name) or known.get(name)
        if usual is not None and said in (None, usual.kind.name):
            return usual.kind
        standing = KINDS[name] if name in known and name in KINDS else None
        if said is None:
            more = f"; an agent of your own names its {DRIVER}" if isinstance(table, dict) else ""
            self._unknown(key, known, more)
            return None
        kinds = [standing.name] if standing is not None else list(KINDS)
        if said not in kinds:
            listed = ", ".join(f"'{one}'" for one in kinds)
            self._fault((*key, DRIVER), f"expected one of {listed}, got {shown(said)}")
        else:
            try:
                convert(name, AgentName)
            except ValueError as error:
                self._fault(key, f"as the name of an agent: {error}")
            else:
                return KINDS[said]
        return None

    def _read_table(self, path: KeyPath, section: type[Section], table: dict[str, Any]) -> None:
        types = _types(section)
        for name, value in table.items():
            key = (*path, name)
            if name not in types:
                self._unknown(key, types)
            else:
                place = self._place(key)
                self._take(key, types[name], value, place, f"{place}: {_dotted(key)}")

    def _is_table(self, key: KeyPath, value: Any) -> bool:
        if isinstance(value, dict):
            return True
        self._fault(key, f"expected a table, got {shown(value)}")
        return False

    def _fault(self, key: KeyPath, words: str) -> None:
        self._faults.append(f"{self._place(key)}: {_dotted(key)}: {words}")

    def _unknown(self, key: KeyPath, known: Iterable[str], more: str = "") -> None:
        hint = nearest(key[-1], known)
        self._faults.append(f"{self._place(key)}: unknown key '{_dotted(key)}'; {hint}{more}")

    def _place(self, key: KeyPath) -> str:
        return f"{self._file}:{self._lines.of(key)}"

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Take single values from ``PODIUM_SECTION_KEY``; tables and lists belong in the file."""
        defaults = flatten(self._config)
        for path, table in _tables(self._config).items():
            for field, kind in _types(type(table)).items():
                key = (*path, field)
                name, base = _variable(".".join(key)), type(defaults[".".join(key)])
                if name in environ and base in _FROM_TEXT:
                    value = _from_text(environ[name], base)
                    self._take(key, kind, value, f"environment {name}", f"environment {name}")

    def _take(self, path: KeyPath, kind: Any, value: Any, source: str, where: str) -> None:
        key = ".".join(path)
        try:
            self._values[key] = convert(value, kind)
        except ValueError as error:
            self._faults.append(f"{where}: {error}")
        else:
            self.sources[key] = source

    def finish(self) -> Config:
        if self._faults:
            raise ConfigError(self._faults)
        config = with_values(self._config, self._values)
        self._check_together(config)
        return config

    def _check_together(self, config: Config) -> None:
        gateway = config.gateway
        if gateway.tls == "files" and not (gateway.cert_file and gateway.key_file):
            missing = "key_file" if gateway.cert_file else "cert_file"
            place = self.sources["gateway.tls"]
            raise ConfigError([f"{place}: gateway.tls: 'files' needs gateway.{missing}"])


def _syntax_fault(file: Path, text: str, error: tomllib.TOMLDecodeError) -> str:
    """Format a parser's error for a place in the file.

    The parser ends its sentence with "(at line L, column C)" or "(at end of document)".
    """
    sentence, _, place = str(error).rpartition(" (at ")
    line = place.removeprefix("line ").partition(",")[0]
    number = line if line.isdigit() else str(text.count("\n") + 1)
    said = sentence[:_SENTENCE_CHARACTERS].encode("unicode_escape").decode("ascii")
    more = MARK if len(sentence) > _SENTENCE_CHARACTERS else ""
    return f"{file}:{number}: not valid TOML: {said}{more}"


def _dotted(key: KeyPath) -> str:
    return ".".join(quoted(part)[1:-1] for part in key)


def _variable(key: str) -> str:
    """Return the variable of a setting, by its dotted name."""
    return PREFIX + re.sub(r"\W", "_", key).upper()


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
def _types(section: type[Section]) -> dict[str, Any]:
    return get_type_hints(section, include_extras=True)


_SECTIONS: Final[dict[str, type[Section]]] = {
    name: section for name, section in _types(Config).items() if name != AGENTS
}
"""The tables beside those of the agents."""


def _unknown_variables(environ: Mapping[str, str], settings: Collection[str]) -> list[str]:
    """Build a sentence for each variable without effect, with the nearest that has one.

    ``settings`` are the variables of the settings. No value is printed: it may be a secret.
    """
    known = sorted(OTHER_VARIABLES.union(settings))
    return [
        f"environment {_escaped(name)}: unknown, it has no effect; {_hint(name, known)}"
        for name in sorted(environ)
        if name.startswith(PREFIX) and name not in known
    ]


def _escaped(name: str) -> str:
    return name[:_SHOWN_CHARACTERS].encode("unicode_escape").decode("ascii")


def _hint(name: str, known: list[str]) -> str:
    # The prefix of all names would make each like every other.
    found = closest(name.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in known])
    return "none is like it" if found is None else f"the nearest known is '{PREFIX}{found}'"
