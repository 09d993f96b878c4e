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
    command = " ".join(_argument(word) for word in (*program, *OPTIONS))
    settings = [_environment(name, value) for name, value in variables.items()]
    text = _put(text, "ExecStart", [f"ExecStart={command}"])
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
    """A value that is taken as it stands, but for specifiers."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_plain(escaped)}"'


def _argument(word: str) -> str:
    """A word of a command line; ``$`` would begin a variable."""
    return _quoted(word).replace("$", "$$") if _is_special(word) else word


def _environment(name: str, value: str) -> str:
    return f"Environment={_quoted(f'{name}={value}')}"


def _is_special(word: str) -> bool:
    return not all(mark.isascii() and (mark.isalnum() or mark in "/._-+=:,@") for mark in word)
