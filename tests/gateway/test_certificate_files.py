"""``tls = "files"``: the person's certificate and key, with errors that name the setting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from podiumd.config.settings import GatewaySettings
from podiumd.gateway.tls import self_signed
from podiumd.gateway.tls.certificate import CertificateError, Tls, make_tls
from tests.gateway.handshake import key_pem, load_key, shake_hands, trusting

NOW = datetime.now(UTC)


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
