"""Contents are found again by their digests, whole or not at all."""

import hashlib
from pathlib import Path

from podiumd.tools.commit.originals import Originals


def test_a_content_is_kept_once_and_found(tmp_path: Path) -> None:
    originals = Originals(tmp_path / "a/b")

    digest = originals.keep(b"data")

    assert digest == originals.keep(b"data") == hashlib.sha256(b"data").hexdigest()
    assert originals.get(digest) == b"data"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == [digest]
    assert (tmp_path / "a/b" / digest).stat().st_mode & 0o777 == 0o600


def test_what_is_missing_or_damaged_is_not_found(tmp_path: Path) -> None:
    originals = Originals(tmp_path)
    digest = originals.keep(b"data")
    (tmp_path / digest).write_bytes(b"dat")

    assert originals.get(digest) is None
    assert originals.get("0" * 64) is None
