"""TLS of the gateway: a certificate of this machine's own making, or the person's files.

``tls = "auto"`` keeps one in STATE/tls: ``gateway.pem`` holds key and certificate together, so that
they never belong to different ones; ``certificate.pem`` is the certificate alone, to give to a
phone. It is made anew only when it has less than RENEW_DAYS left at a start, or when a person has
deleted ``gateway.pem``: each new one has to be trusted on each phone again, so a changed address
alone is reported and no reason. All here blocks for milliseconds and belongs in a thread.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from podiumd.config.paths import make_private
from podiumd.config.settings import GatewaySettings
from podiumd.tools.files.plain_file import read_plain

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

RENEW_DAYS: Final = 30
MOST_BYTES: Final = 1024 * 1024  # of a file of certificates, or of a key
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_DNS_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*"
    r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?",
    re.ASCII,
)


class CertificateError(Exception):
    """TLS cannot be used; the text names the setting or the file, and says what to do."""


class Tls(msgspec.Struct, frozen=True):
    """TLS for the listener, and what people see of it.

    ``fingerprint``: SHA-256 of the certificate, hex pairs with colons. ``file``: the certificate
    alone. ``made_here``: only this machine vouches for it. ``notes``: sentences to log.
    """

    context: ssl.SSLContext
    fingerprint: str
    file: Path
    made_here: bool
    notes: tuple[str, ...] = ()


def make_tls(
    settings: GatewaySettings,
    state: Path,
    names: Iterable[str],
    addresses: Iterable[str],
    now: datetime,
) -> Tls | None:
    """TLS as the settings want it; ``None`` for ``tls = "off"``.

    ``names`` and ``addresses`` are what this machine is called by; loopback, the setting ``host``
    and ``allowed_hosts`` are added here. ``now`` has a time zone.

    Raises CertificateError, and PlaceError where STATE/tls is not ours alone.
    """
    if settings.tls == "off":
        return None
    if settings.tls == "files":
        return _of_files(settings, now)
    called = [*names, *addresses, settings.host, *settings.allowed_hosts]
    return _of_our_own(state / "tls", _wanted(called), now)


def _wanted(called: Iterable[str]) -> tuple[str, ...]:
    """List every name and address for a certificate, written as certificates write them."""
    found = []
    for name in (*called, *_LOOPBACK):
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            if _DNS_NAME.fullmatch(name.lower()):
                found.append(name.lower())
        else:
            if not address.is_unspecified:
                found.append(str(address))
    return tuple(dict.fromkeys(found))


def _of_our_own(directory: Path, wanted: Sequence[str], now: datetime) -> Tls:
    from podiumd.gateway.tls import self_signed  # cryptography: only where TLS is wanted

    make_private(directory, os.getuid())
    both, alone = directory / "gateway.pem", directory / "certificate.pem"
    notes: list[str] = []
    found = _stored(both)
    if found is not None and found.not_valid_after_utc - now < timedelta(days=RENEW_DAYS):
        notes.append(
            f"The certificate {alone} was about to end and was made anew: phones that trusted it "
            "must trust the new one."
        )
        found = None
    if found is None:
        key, found = self_signed.make(wanted, now)
        _write(both, key + self_signed.pem(found))
    _write(alone, self_signed.pem(found))
    missing = sorted(set(wanted) - set(self_signed.names_in(found)))
    if missing:
        notes.append(
            f"The certificate {alone} does not cover {', '.join(missing)}. To have one that does, "
            f"delete {both} and restart; phones must trust it anew."
        )
    try:
        context = _context(both, both)
    except (ssl.SSLError, OSError) as error:
        raise _unusable(both, error) from None
    return Tls(context, self_signed.fingerprint(found), alone, made_here=True, notes=tuple(notes))


def _stored(path: Path) -> Certificate | None:
    from podiumd.gateway.tls import self_signed

    try:
        path.chmod(0o600)
        return self_signed.load(read_plain(path, MOST_BYTES, links=True))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: Exception) -> CertificateError:
    return CertificateError(
        f"gateway.tls: {path} cannot be used ({_reason(error)}). Delete it and restart: a new "
        "certificate is made, which phones must trust anew."
    )


def _of_files(settings: GatewaySettings, now: datetime) -> Tls:
    from podiumd.gateway.tls import self_signed

    cert_file, cert = _named("gateway.cert_file", settings.cert_file)
    key_file, key = _named("gateway.key_file", settings.key_file)
    try:
        found = self_signed.load(cert)
    except ValueError:
        raise CertificateError(
            f"gateway.cert_file: {cert_file} holds no certificate in PEM form (a text that begins "
            "'-----BEGIN CERTIFICATE-----')."
        ) from None
    if b"PRIVATE KEY-----" not in key:
        raise CertificateError(
            f"gateway.key_file: {key_file} holds no private key in PEM form (a text that begins "
            "'-----BEGIN PRIVATE KEY-----')."
        )
    if b"ENCRYPTED" in key:
        raise CertificateError(
            f"gateway.key_file: {key_file} is encrypted, and there is nobody to ask for its "
            f"password: 'openssl pkey -in {key_file} -out NEW' decrypts it."
        )
    try:
        context = _context(cert_file, key_file)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise CertificateError(
                f"gateway.key_file: {key_file} is not the key of the certificate {cert_file} "
                "(gateway.cert_file)."
            ) from None
        raise CertificateError(
            f"gateway.cert_file and gateway.key_file: {cert_file} and {key_file} cannot be used "
            f"({_reason(error)})."
        ) from None
    ended = found.not_valid_after_utc
    notes = (f"The certificate {cert_file} (gateway.cert_file) ended on {ended:%Y-%m-%d}.",)
    return Tls(
        context, self_signed.fingerprint(found), cert_file, False, notes if ended < now else ()
    )


def _named(setting: str, name: str) -> tuple[Path, bytes]:
    path = Path(name).expanduser()
    if not path.is_absolute():
        raise CertificateError(f"{setting}: '{name}' is no whole path: begin it with '/' or '~/'.")
    try:
        return path, read_plain(path, MOST_BYTES, links=True)
    except OSError as error:
        raise CertificateError(f"{setting}: {path} cannot be read ({_reason(error)}).") from None


def _context(cert_file: Path, key_file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(cert_file, key_file, password="")
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return str(error.reason or error).lower().replace("_", " ")
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "no certificate in it"


def _write(path: Path, data: bytes) -> None:
    """Put the file there whole or not at all, for its owner alone; raises CertificateError."""
    new = path.with_suffix(".new")
    try:
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise CertificateError(
            f"gateway.tls: {path} cannot be written ({_reason(error)})."
        ) from None
