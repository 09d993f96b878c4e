"""Certificates as values: make a self-signed one, read one. The only user of cryptography.

Imported only where TLS is wanted: the library takes longer to import than the rest of the gateway.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_DAYS: Final = 730
"""Apple's systems take at most 825, https://support.apple.com/103769."""

_SKEW: Final = timedelta(days=1)  # a phone's clock may be behind
_LONGEST_COMMON_NAME: Final = 64

_USAGE: Final = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


def make(names: Sequence[str], now: datetime) -> tuple[bytes, x509.Certificate]:
    """Make an EC P-256 key, returned as PEM, and its certificate for names and addresses.

    An iPhone lets a person trust a certificate only if it is an authority's; so that this one can
    vouch for nothing else, it is limited to its own names. The first name is in its title.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    title = f"Podium on {names[0]}"[:_LONGEST_COMMON_NAME]
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
    own_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own_id)
    started = now - _SKEW
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(started)
        .not_valid_after(started + timedelta(days=VALID_DAYS))
    )
    extensions: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (_USAGE, True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (x509.SubjectAlternativeName([_called(name) for name in names]), False),
        (x509.NameConstraints([_limited_to(name) for name in names], None), True),
        (own_id, False),
        (issuer_id, False),
    ]
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return secret, builder.sign(key, hashes.SHA256())


def load(data: bytes) -> x509.Certificate:
    """Load the first certificate of a PEM text, with anything else in it; raises ValueError."""
    return x509.load_pem_x509_certificate(data)


def pem(certificate: x509.Certificate) -> bytes:
    """Encode the certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def fingerprint(certificate: x509.Certificate) -> str:
    """Return its SHA-256 as hex pairs with colons, as phones and browsers show it."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def names_in(certificate: x509.Certificate) -> list[str]:
    """Return the names and addresses that it is for."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    addresses = map(str, found.get_values_for_type(x509.IPAddress))
    return [*found.get_values_for_type(x509.DNSName), *addresses]


def _called(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _limited_to(name: str) -> x509.GeneralName:
    """Return the name as a limit: an address alone, a name with those below it."""
    try:
        return x509.IPAddress(ipaddress.ip_network(name))
    except ValueError:
        return x509.DNSName(name.removeprefix("*."))
