"""A phone's connection without an event loop: one blocking socket, read when it is ready."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl

from podium.errors import USAGE, Failure
from podium.phone.fields import Json
from podium.phone.link import Link

CONNECT_SECONDS = 10.0
SEND_SECONDS = 30.0
CHUNK = 262144


class Pump:
    """A connected link. ``fingerprint``, the SHA-256 of the gateway's certificate in hexadecimal,
    takes the place of a certificate authority.

    Raises:
        Failure: there is no gateway at ``url``, or its certificate is another.
    """

    def __init__(self, url: str, fingerprint: str | None = None) -> None:
        self.url = url
        try:
            self.link = Link(url)
        except ValueError as error:
            raise Failure(f"{error}.", USAGE) from error
        self._socket = self._connect(fingerprint)
        self.flush()

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._socket.fileno()

    @property
    def unread(self) -> bool:
        """Whether bytes are here already that the descriptor says nothing of."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def send(self, frame: Json | bytes) -> None:
        """One frame; bytes are a piece of speech."""
        if isinstance(frame, bytes):
            self.link.send_binary(frame)
        else:
            self.link.send(json.dumps(frame, separators=(",", ":")))

    def flush(self) -> None:
        """Send what the link has to send; a connection that is gone is found when reading."""
        self._socket.settimeout(SEND_SECONDS)
        try:
            for piece in self.link.output():
                if piece:
                    self._socket.sendall(piece)
        except OSError:
            pass

    def read(self) -> list[str | bytes] | None:
        """The messages that are whole now; ``None``: the connection has ended."""
        try:
            data = self._socket.recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            self.link.ended()
            return None
        messages = self.link.received(data)
        self.flush()
        return messages

    def close(self) -> None:
        """Say good-bye and hang up."""
        self.link.close()
        self.flush()
        self._socket.close()

    def _connect(self, fingerprint: str | None) -> socket.socket:
        where = (self.link.host, self.link.port)
        try:
            bare = socket.create_connection(where, CONNECT_SECONDS)
            if not self.link.secure:
                return bare
            return _secured(bare, self.link.host, fingerprint)
        except ssl.SSLCertVerificationError as error:
            raise Failure(
                f"The certificate of {self.url} is of no known authority "
                f"({error.verify_message}): 'podium pair' shows its fingerprint, "
                "--fingerprint trusts it."
            ) from error
        except OSError as error:
            reason = error.strerror or error
            raise Failure(f"There is no gateway at {self.url}: {reason}.") from error


def _secured(bare: socket.socket, host: str, fingerprint: str | None) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    if fingerprint is not None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    secured = context.wrap_socket(bare, server_hostname=host)
    if fingerprint is not None:
        certificate = secured.getpeercert(binary_form=True) or b""
        found = hashlib.sha256(certificate).hexdigest()
        if found != fingerprint.replace(":", "").lower():
            secured.close()
            raise Failure(f"The gateway's certificate is another: its fingerprint is {found}.")
    return secured
