"""``tls = "auto"``: a certificate of our own that phones can trust, and that can do no more."""

from __future__ import annotations

import hashlib
import os
import shutil
import ssl
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from podiumd.config.paths import PlaceError
from podiumd.config.settings import GatewaySettings
from podiumd.gateway.tls import self_signed
from podiumd.gateway.tls.certificate import CertificateError, Tls, make_tls
from tests.gateway.handshake import key_pem, load_key, shake_hands, trusting

NOW = datetime.now(UTC)
NAMES = ("pots", "pots.local")
ADDRESSES = ("192.0.2.7", "2001:db8::7")


def auto(
    state: Path,
    *,
    now: datetime = NOW,
    names: tuple[str, ...] = NAMES,
    addresses: tuple[str, ...] = ADDRESSES,
    host: str = "0.0.0.0",
    allowed: tuple[str, ...] = (),
) -> Tls:
    settings = GatewaySettings(tls="auto", host=host, allowed_hosts=allowed)
    made = make_tls(settings, state, names, addresses, now)
    assert made is not None
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_off_is_no_tls_and_touches_nothing(tmp_path: Path) -> None:
    assert make_tls(GatewaySettings(), tmp_path, (), (), NOW) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    ["localhost", "127.0.0.1", "::1", *NAMES, *ADDRESSES, "my.box.example", "a.vpn.example"],
)
def test_a_client_that_has_the_certificate_trusts_every_name_of_this_machine(
    tmp_path: Path, name: str
) -> None:
    made = auto(tmp_path, host="my.box.example", allowed=("*.vpn.example",))

    assert shake_hands(made.context, trusting(made), name).version() == "TLSv1.3"


@pytest.mark.parametrize("name", ["pots.example", "192.0.2.8", "0.0.0.0"])
def test_the_certificate_is_for_nothing_else(tmp_path: Path, name: str) -> None:
    made = auto(tmp_path)

    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(made.context, trusting(made), name)


def test_a_client_that_was_given_nothing_does_not_trust_it(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(auto(tmp_path).context, ssl.create_default_context(), "pots")


def test_the_authority_that_a_phone_trusts_can_vouch_for_no_other_site(tmp_path: Path) -> None:
    """Whoever steals the key cannot play the phone's bank with it."""
    made = auto(tmp_path)
    pem = (tmp_path / "tls" / "gateway.pem").read_bytes()
    (authority, key) = self_signed.load(pem), load_key(pem)
    forged_key = ec.generate_private_key(ec.SECP256R1())
    for name, trusted in (("bank.example", False), ("pots.local", True)):
        forged = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(authority.subject)
            .public_key(forged_key.public_key())
            .serial_number(7)
            .not_valid_before(NOW - timedelta(days=1))
            .not_valid_after(NOW + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()),
                critical=False,
            )
            .sign(key, hashes.SHA256())
        )
        path = tmp_path / f"{name}.pem"
        path.write_bytes(key_pem(forged_key) + self_signed.pem(forged))
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(path)
        if trusted:  # the forgery is sound in everything else
            shake_hands(server, trusting(made), name)
        else:
            with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
                shake_hands(server, trusting(made), name)


def test_the_certificate_is_what_apples_systems_ask_for(tmp_path: Path) -> None:
    found = self_signed.load(auto(tmp_path).file.read_bytes())
    extensions = found.extensions

    assert isinstance(found.public_key(), ec.EllipticCurvePublicKey)
    assert found.not_valid_after_utc - found.not_valid_before_utc <= timedelta(days=825)
    assert found.not_valid_before_utc < NOW
    assert extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert found.subject.rfc4514_string() == "CN=Podium on pots"


def test_key_and_certificate_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        auto(tmp_path / "state")
    finally:
        os.umask(before)

    directory = tmp_path / "state" / "tls"
    assert mode(directory) == 0o700
    assert {path.name: mode(path) for path in directory.iterdir()} == {
        "gateway.pem": 0o600,
        "certificate.pem": 0o600,
    }
    assert b"PRIVATE" not in (directory / "certificate.pem").read_bytes()


def test_a_key_that_was_opened_to_others_is_closed_again(tmp_path: Path) -> None:
    auto(tmp_path)
    (tmp_path / "tls" / "gateway.pem").chmod(0o644)

    auto(tmp_path)

    assert mode(tmp_path / "tls" / "gateway.pem") == 0o600


def test_a_directory_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tls").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(PlaceError, match="symbolic link"):
        auto(tmp_path)


def test_the_certificate_stays_the_same_over_restarts(tmp_path: Path) -> None:
    first = auto(tmp_path)
    again = auto(tmp_path, now=NOW + timedelta(days=698))

    assert again.fingerprint == first.fingerprint
    assert again.notes == first.notes == ()


def test_the_fingerprint_is_that_of_the_certificate_that_is_sent(tmp_path: Path) -> None:
    made = auto(tmp_path)
    sent = shake_hands(made.context, trusting(made), "pots").getpeercert(binary_form=True)
    assert sent is not None
    assert made.fingerprint == hashlib.sha256(sent).digest().hex(":").upper()


def test_a_certificate_with_less_than_thirty_days_left_is_made_anew_and_that_is_said(
    tmp_path: Path,
) -> None:
    first = auto(tmp_path)
    again = auto(tmp_path, now=NOW + timedelta(days=700))

    assert again.fingerprint != first.fingerprint
    (note,) = again.notes
    assert "made anew: phones that trusted it must trust the new one" in note
    assert auto(tmp_path, now=NOW + timedelta(days=701)).fingerprint == again.fingerprint


def test_a_changed_address_is_told_and_the_trusted_certificate_is_kept(tmp_path: Path) -> None:
    first = auto(tmp_path)
    again = auto(tmp_path, addresses=("198.51.100.9",), names=("pots", "mugs.local"))

    assert again.fingerprint == first.fingerprint
    (note,) = again.notes
    assert "does not cover 198.51.100.9, mugs.local. To have one that does, delete" in note


def test_deleting_the_file_as_told_makes_a_certificate_for_the_new_address(
    tmp_path: Path,
) -> None:
    auto(tmp_path)
    (tmp_path / "tls" / "gateway.pem").unlink()

    again = auto(tmp_path, addresses=("198.51.100.9",))

    assert again.notes == ()
    shake_hands(again.context, trusting(again), "198.51.100.9")


def test_a_lost_copy_of_the_certificate_comes_back(tmp_path: Path) -> None:
    first = auto(tmp_path)
    before = first.file.read_bytes()
    first.file.unlink()

    assert auto(tmp_path).file.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"garbage", b"key only"])
def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    auto(tmp_path)
    path = tmp_path / "tls" / "gateway.pem"
    key_alone = path.read_bytes().partition(b"-----BEGIN CERT")[0]
    path.write_bytes(key_alone if content == b"key only" else content)

    with pytest.raises(CertificateError, match=r"gateway\.pem cannot be used .*Delete it and"):
        auto(tmp_path)


def test_a_certificate_that_lost_its_key_is_named(tmp_path: Path) -> None:
    made = auto(tmp_path)
    shutil.copyfile(made.file, tmp_path / "tls" / "gateway.pem")

    with pytest.raises(CertificateError, match=r"gateway\.pem cannot be used"):
        auto(tmp_path)


def test_a_certificate_of_the_persons_making_in_our_place_is_told_what_it_lacks(
    tmp_path: Path,
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    title = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pots")])
    bare = (
        x509.CertificateBuilder()
        .subject_name(title)
        .issuer_name(title)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=300))
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "tls").mkdir(mode=0o700)
    (tmp_path / "tls" / "gateway.pem").write_bytes(key_pem(key) + self_signed.pem(bare))

    (note,) = auto(tmp_path).notes

    assert "does not cover 127.0.0.1, 192.0.2.7, " in note


def test_a_place_that_takes_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "tls" / "certificate.pem").mkdir(parents=True)

    with pytest.raises(CertificateError, match=r"certificate\.pem cannot be written"):
        auto(tmp_path)


def test_what_an_interrupted_start_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir(mode=0o700)
    (tmp_path / "tls" / "gateway.new").write_text("half a ke")

    made = auto(tmp_path)

    shake_hands(made.context, trusting(made), "pots")
    assert not (tmp_path / "tls" / "gateway.new").exists()


@pytest.mark.parametrize("name", ["bad name", "-a", "a" * 64, "ünï", "a..b", "", "."])
def test_a_name_that_no_certificate_can_hold_is_left_out(tmp_path: Path, name: str) -> None:
    made = auto(tmp_path, names=(name, "pots"))

    assert "pots" in self_signed.names_in(self_signed.load(made.file.read_bytes()))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_1_2_and_1_3_are_spoken_and_http_is_agreed_on(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    made = auto(tmp_path)
    client = trusting(made)
    client.minimum_version = client.maximum_version = version
    client.set_alpn_protocols(["h2", "http/1.1"])

    assert shake_hands(made.context, client, "pots").selected_alpn_protocol() == "http/1.1"
    assert made.context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_without_tls_nobody_pays_for_the_library() -> None:
    program = "import sys, podiumd.gateway.control; sys.exit('cryptography' in sys.modules)"
    daemon = Path(__file__).parents[2] / "daemon"

    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(daemon)}, check=False
    )

    assert done.returncode == 0


# -- ``tls = "files"``: the person's certificate and key, with errors that name the setting


def files(cert: object, key: object, state: Path, now: datetime = NOW) -> Tls:
    settings = GatewaySettings(tls="files", cert_file=str(cert), key_file=str(key))
    made = make_tls(settings, state, (), (), now)
    assert made is not None
    return made


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate and its key in two files."""
    key, found = self_signed.make(["pots"], NOW)
    (tmp_path / "cert.pem").write_bytes(self_signed.pem(found))
    (tmp_path / "key.pem").write_bytes(key)
    return tmp_path / "cert.pem", tmp_path / "key.pem"


def test_files_of_the_persons_own_are_used(pair: tuple[Path, Path], tmp_path: Path) -> None:
    made = files(*pair, tmp_path / "state")

    shake_hands(made.context, trusting(made), "pots")
    assert (made.file, made.made_here, made.notes) == (pair[0], False, ())
    assert not (tmp_path / "state").exists()


def test_a_path_may_begin_with_the_home_directory(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert files("~/cert.pem", "~/key.pem", tmp_path).file == pair[0]


def test_a_certificate_that_has_ended_is_used_and_told(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    (note,) = files(*pair, tmp_path, now=NOW + timedelta(days=800)).notes

    assert note.startswith(f"The certificate {pair[0]} (gateway.cert_file) ended on 20")


def test_files_with_faults_are_named_by_their_settings(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = pair
    other, _ = self_signed.make(["pots"], NOW)
    locked = key_pem(load_key(other), b"secret")
    odd = {"other.pem": other, "locked.pem": locked, "empty.pem": b""}
    odd["torn.pem"] = other[:100] + b"\n-----END PRIVATE KEY-----\n"
    for name, data in odd.items():
        (tmp_path / name).write_bytes(data)
    faults: list[tuple[object, object, str]] = [
        (tmp_path / "none.pem", key, r"gateway\.cert_file: .*none\.pem cannot be read \(No such"),
        (cert, tmp_path / "none.pem", r"gateway\.key_file: .*none\.pem cannot be read \(No such"),
        (tmp_path, key, r"gateway\.cert_file: .* cannot be read \(Is a directory"),
        ("cert.pem", key, r"gateway\.cert_file: 'cert\.pem' is no whole path"),
        (key, key, r"gateway\.cert_file: .*key\.pem holds no certificate"),
        (tmp_path / "empty.pem", key, r"gateway\.cert_file: .*empty\.pem holds no certificate"),
        (cert, cert, r"gateway\.key_file: .*cert\.pem holds no private key"),
        (
            cert,
            tmp_path / "locked.pem",
            r"gateway\.key_file: .*locked\.pem is encrypted, and .*ope",
        ),
        (cert, tmp_path / "other.pem", r"gateway\.key_file: .*other\.pem is not the key of the"),
        (cert, tmp_path / "torn.pem", r"cert_file and gateway\.key_file: .*torn\.pem cannot be"),
    ]
    for given_cert, given_key, words in faults:
        with pytest.raises(CertificateError, match=words):
            files(given_cert, given_key, tmp_path)
