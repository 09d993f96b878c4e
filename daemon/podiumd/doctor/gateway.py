"""The gateway: its port, and the certificate where TLS is wanted."""

from __future__ import annotations

import errno
import socket as sockets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from podiumd.core.excerpt import beginning
from podiumd.doctor.subject import PROC, Subject, descriptors
from podiumd.gateway.tls.certificate import MOST_BYTES, RENEW_DAYS
from podiumd.observe.checks import Check, broken, ok, warn
from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.process.processes import command_line

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_LISTEN: Final = "0A"  # TCP_LISTEN of Linux's include/net/tcp_states.h
_MOST_SAID: Final = 80


def port(subject: Subject) -> list[Check]:
    """Free, ours, or taken by whom."""
    settings, status = subject.config.gateway, subject.daemon.status
    if not settings.enabled:
        return [ok("port", "the gateway is off (gateway.enabled)")]
    told = (status or {}).get("gateway") or {}
    if told.get("problem"):
        # A sentence with what is wrong, and one with what to do.
        message, _, todo = str(told["problem"]).rstrip(".").partition(". ")
        fix = f"{todo[:1].lower()}{todo[1:]}, then {subject.restart}" if todo else subject.restart
        return [broken("port", message, fix)]
    if told.get("url"):
        return [ok("port", f"the daemon listens: phones connect to {told['url']}")]
    if status is not None and not told.get("enabled"):
        return [ok("port", "the running daemon has its gateway off")]
    if subject.daemon.pid is not None:
        message = "not checked: the daemon runs and does not answer"
        return [warn("port", message, "see the line 'socket'")]
    if settings.port == 0:
        return [ok("port", "any free one (gateway.port = 0)")]
    return [_try(settings.host, settings.port)]


def _try(host: str, number: int) -> Check:
    """Bind without listening: no client can connect meanwhile."""
    where = f"port {number} on {host}"
    try:
        found = sockets.getaddrinfo(
            host, number, type=sockets.SOCK_STREAM, flags=sockets.AI_PASSIVE
        )
    except OSError as error:
        message = f"gateway.host is '{host}', which is no name or address: {error.strerror}"
        return broken("port", message, "set gateway.host to an address of this machine")
    for family, _, _, _, address in found:
        with sockets.socket(family, sockets.SOCK_STREAM) as sock:
            sock.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
            try:
                sock.bind(address)
            except OSError as error:
                return _refused(where, number, error)
    return ok("port", f"{where} is free")


def _refused(where: str, number: int, error: OSError) -> Check:
    if error.errno == errno.EADDRINUSE:
        taker = taken_by(number)
        fix = "stop that program, or set gateway.port to another (0: any free one)"
        return broken("port", f"{where} is taken{f' by {taker}' if taker else ''}", fix)
    if error.errno == errno.EACCES:
        fix = "set gateway.port to one above 1023"
        return broken("port", f"{where} is for the administrator", fix)
    fix = "set gateway.host to an address of this machine"
    return broken("port", f"nothing can listen on {where}: {error.strerror}", fix)


def taken_by(number: int, proc: Path = PROC) -> str:
    """Find the command and pid that listens on a port, as far as the system shows it."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(number, proc)}
    for process in sorted(proc.glob("[0-9]*")) if wanted else ():
        if not wanted.isdisjoint(descriptors(process)):
            pid = int(process.name)
            return f"{beginning(command_line(pid), _MOST_SAID) or 'a program'} (pid {pid})"
    return ""


def _inodes(number: int, proc: Path) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        try:
            rows = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == number:
                yield fields[9]


def certificate(subject: Subject) -> list[Check]:
    """Check how long the certificate is good for."""
    name, settings = "certificate", subject.config.gateway
    if not settings.enabled or settings.tls == "off":
        return [ok(name, 'not used (gateway.tls = "off")')]
    own = settings.tls == "auto"
    state = subject.places.state / "tls/gateway.pem"
    path = state if own else Path(settings.cert_file).expanduser()
    try:
        found = _load(path)
    except FileNotFoundError:
        if own:
            return [ok(name, "none yet: the next start makes one")]
        return [broken(name, f"gateway.cert_file: there is no {path}", "put the certificate there")]
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it holds no certificate in PEM form"
        fix = (
            f"delete it; {subject.restart} makes a new one" if own else "put the certificate there"
        )
        return [broken(name, f"{path} cannot be read: {why}", fix)]
    left = found.not_valid_after_utc - subject.now
    if left > timedelta(days=RENEW_DAYS):
        return [ok(name, f"{path} is good for {left.days} days")]
    ends = f"{path} {'ended' if left < timedelta() else 'ends'} on {found.not_valid_after_utc:%F}"
    fix = (
        f"{subject.restart} makes a new one, which phones must trust"
        if own
        else "renew it, then restart"
    )
    return [broken(name, ends, fix) if left < timedelta() else warn(name, ends, fix)]


def _load(path: Path) -> Certificate:
    from podiumd.gateway.tls import self_signed  # cryptography: only where TLS is wanted

    return self_signed.load(read_plain(path, MOST_BYTES, links=True))
