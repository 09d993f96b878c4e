"""systemd's units for one person: the shipped ones with this machine's paths in their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from podiumd.service.templates import template

SERVICE: Final = "podiumd.service"
SOCKET: Final = "podiumd.socket"
GATEWAY: Final = "podiumd-gateway.socket"
OPTIONS: Final = ("--log-format", "json")


def service(program: Sequence[str], variables: Mapping[str, str]) -> str:
    """``podiumd.service``: ``program`` is the daemon without options, ``variables`` its own."""
    text = template("systemd", SERVICE)
    settings = [_environment(name, value) for name, value in variables.items()]
    text = _put(text, "ExecStart", [f"ExecStart={_command((*program, *OPTIONS))}"])
    return _put(text, "Environment", ["Environment=PODIUM_SERVICE=systemd", *settings])


def socket(path: Path) -> str:
    """``podiumd.socket``."""
    listen = f"ListenStream={_plain(str(path))}"
    return _put(template("systemd", SOCKET), "ListenStream", [listen])


def gateway(host: str, port: int) -> str:
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
