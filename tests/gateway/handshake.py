"""TLS without sockets: handshakes in memory, and keys as PEM."""

from __future__ import annotations

import ssl

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from podiumd.gateway.tls.certificate import Tls


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """A whole handshake in memory; raises what either side raises. Returns the client's end."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=name)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [near, far]
    for _ in range(20):
        for side in waiting[:]:
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert waiting == []
    return near


def trusting(made: Tls) -> ssl.SSLContext:
    """A client as strict as the standard, to which the certificate was given."""
    client = ssl.create_default_context(cafile=str(made.file))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    return client


def load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def key_pem(key: ec.EllipticCurvePrivateKey, password: bytes = b"") -> bytes:
    secret = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret)
