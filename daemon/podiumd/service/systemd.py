"""systemd's user manager: the steps, and the units for one person.

The units are the shipped ones with this machine's paths in their places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from podiumd.service.runner import Command, Runner
from podiumd.service.situation import Situation, template

SERVICE: Final = "podiumd.service"
SOCKET: Final = "podiumd.socket"
GATEWAY: Final = "podiumd-gateway.socket"
OPTIONS: Final = ("--log-format", "json")

_SOCKETS: Final = (SOCKET, GATEWAY)
_WANTED: Final = {
    "default.target.wants": (SERVICE,),
    "sockets.target.wants": _SOCKETS,
}
"""The links that ``enable`` makes, by directory."""


def unit_directory(situation: Situation) -> Path:
    """Return the directory of the person's own units."""
    chosen = situation.environ.get("XDG_CONFIG_HOME", "")
    base = Path(chosen) if chosen.startswith("/") else situation.home / ".config"
    return base / "systemd" / "user"


class Systemd:
    """Decide the steps for systemd; see ``ServiceManager``."""

    name: Final = "systemd"

    def files(self, situation: Situation) -> tuple[Path, ...]:
        """List the service, then its sockets."""
        directory = unit_directory(situation)
        return tuple(directory / name for name in (SERVICE, *_SOCKETS))

    def texts(self, situation: Situation) -> dict[Path, str]:
        """Build the units that ``install`` writes, the service first."""
        texts = {
            SERVICE: service_unit(situation.program, situation.variables),
            SOCKET: socket_unit(situation.places.socket),
        }
        if situation.gateway_socket:
            gateway = situation.gateway
            texts[GATEWAY] = gateway_unit(gateway.host, gateway.port)
        return {unit_directory(situation) / name: text for name, text in texts.items()}

    def question(self, situation: Situation) -> Command:
        """Return the question for a user manager; without a bus it takes no command."""
        return ("systemctl", "--user", "show", "--property=Version")

    def install(self, situation: Situation, runner: Runner) -> None:
        """Install the units.

        The sockets go down for a moment: systemd opens none of a service that runs.
        """
        directory = unit_directory(situation)
        texts = self.texts(situation)
        names = [path.name for path in texts]
        situation.try_program(runner)
        if not situation.gateway_socket:
            for name in _present(situation, (GATEWAY,)):
                _systemctl(runner, "disable", "--now", name)
                runner.remove(directory / name)
        runner.make_directory(directory)
        for path, text in texts.items():
            # The service may hold keys.
            runner.write(path, text, 0o600 if path.name == SERVICE else 0o644)
        _systemctl(runner, "daemon-reload")
        _systemctl(runner, "enable", *names)
        runner.stop_daemon("leave", only_stray=True)
        _systemctl(runner, "stop", *names)
        _systemctl(runner, "start", *sorted(names, key=lambda name: name == SERVICE))
        runner.await_answer()

    def undo(self, situation: Situation, runner: Runner) -> None:
        """Undo an install: earlier units run again; new ones are neither enabled nor running."""
        present = _present(situation, (*_SOCKETS, SERVICE))
        new = [path.name for path in self.texts(situation) if path.name not in present]
        _each(runner, "stop", new, tolerate=True)
        _each(runner, "disable", new, tolerate=True)
        runner.put_back()
        _systemctl(runner, "daemon-reload", tolerate=True)
        _each(runner, "enable", present, tolerate=True)
        _each(runner, "start", present, tolerate=True)

    def uninstall(self, situation: Situation, runner: Runner) -> None:
        """Remove the installation; the daemon's data (STATE) stays."""
        directory = unit_directory(situation)
        present = _present(situation, (SERVICE, *_SOCKETS))
        self._stop(situation, runner, tolerate=True)
        if not situation.silent:
            _each(runner, "disable", present, tolerate=True)
        for wants, names in _WANTED.items():  # as 'disable' does, where no other takes them away
            for name in names:
                runner.remove(directory / wants / name)
            runner.remove_empty(directory / wants)
        for name in present:
            runner.remove(directory / name)
        runner.remove_empty(directory)
        runner.remove_empty(directory.parent)
        if not situation.silent:
            _systemctl(runner, "daemon-reload", tolerate=True)
            _systemctl(runner, "reset-failed", SERVICE, tolerate=True)

    def start(self, situation: Situation, runner: Runner) -> None:
        """Sockets, then the daemon."""
        _systemctl(runner, "start", *_present(situation, (*_SOCKETS, SERVICE)))
        runner.await_answer()

    def stop(self, situation: Situation, runner: Runner) -> None:
        """Stop the sockets first, so that no client starts the next daemon."""
        self._stop(situation, runner, tolerate=False)

    def _stop(self, situation: Situation, runner: Runner, *, tolerate: bool) -> None:
        if situation.silent:
            runner.stop_daemon("interrupt")
            return
        sockets = _present(situation, _SOCKETS)
        first = ("systemctl", "--user", "stop", *sockets) if sockets else ()
        runner.stop_daemon("interrupt", meanwhile=first, tolerate=tolerate)
        present = _present(situation, (*_SOCKETS, SERVICE))
        _each(runner, "stop", present, tolerate=tolerate)

    def restart(self, situation: Situation, runner: Runner) -> None:
        """Restart the service; the sockets stay, so no client is refused."""
        _systemctl(runner, "restart", SERVICE)
        runner.await_answer()


def _present(situation: Situation, names: tuple[str, ...]) -> tuple[str, ...]:
    directory = unit_directory(situation)
    return tuple(name for name in names if directory / name in situation.there)


def _each(runner: Runner, verb: str, names: Sequence[str], *, tolerate: bool = False) -> None:
    """Run one command for all of these units; none where there are none."""
    if names:
        _systemctl(runner, verb, *names, tolerate=tolerate)


def _systemctl(runner: Runner, *words: str, tolerate: bool = False) -> None:
    runner.run(("systemctl", "--user", *words), tolerate=tolerate)


def service_unit(program: Sequence[str], variables: Mapping[str, str]) -> str:
    """``podiumd.service``: ``program`` is the daemon without options, ``variables`` its own."""
    text = template("systemd", SERVICE)
    settings = [_environment(name, value) for name, value in variables.items()]
    text = _put(text, "ExecStart", [f"ExecStart={_command((*program, *OPTIONS))}"])
    return _put(text, "Environment", ["Environment=PODIUM_SERVICE=systemd", *settings])


def socket_unit(path: Path) -> str:
    """``podiumd.socket``."""
    listen = f"ListenStream={_plain(str(path))}"
    return _put(template("systemd", SOCKET), "ListenStream", [listen])


def gateway_unit(host: str, port: int) -> str:
    """``podiumd-gateway.socket``."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return _put(template("systemd", GATEWAY), "ListenStream", [f"ListenStream={place}"])


def _put(text: str, key: str, lines: Sequence[str]) -> str:
    """Put lines in the place of the one setting ``key``."""
    found = [line for line in text.splitlines() if line.startswith(f"{key}=")]
    (line,) = found
    return text.replace(f"{line}\n", "".join(f"{one}\n" for one in lines), 1)


def _plain(text: str) -> str:
    """Escape a value's specifiers; it is taken as it stands otherwise."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_plain(escaped)}"'


def _command(words: Sequence[str]) -> str:
    """Build a command line.

    A program's own path may hold no quote or backslash, and in it alone ``$`` begins no variable; a
    shell that becomes the program takes it as any other word.
    """
    program, *options = words
    if any(mark in program for mark in "\"'\\$"):
        program, options = "/bin/sh", ["-c", 'exec "$0" "$@"', *words]
    return " ".join([_word(program), *(_word(word).replace("$", "$$") for word in options)])


def _word(word: str) -> str:
    return _quoted(word) if _is_special(word) else word


def _environment(name: str, value: str) -> str:
    return f"Environment={_quoted(f'{name}={value}')}"


def _is_special(word: str) -> bool:
    return not all(mark.isascii() and (mark.isalnum() or mark in "/._-+=:,@") for mark in word)
