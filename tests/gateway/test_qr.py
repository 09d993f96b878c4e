"""The QR code of a key: what a camera reads in it is the key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from podiumd.gateway.access import keys, qr
from tests.gateway import qr_reader

KEYS = ["untethered-" + "0" * 32, "untethered-" + "f" * 32, *(keys.new_key() for _ in range(20))]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_the_terminal_shows_the_bare_key(key: str) -> None:
    modules = qr_reader.from_half_blocks(qr.terminal_text(key))

    assert qr_reader.read(modules) == key


def test_the_picture_shows_the_same_code() -> None:
    key = keys.new_key()
    modules = qr_reader.from_png(qr.png(key), qr.PNG_SCALE)

    assert qr_reader.read(modules) == key
    assert qr_reader.margins(modules) == (4, 4, 4, 4)


def test_the_terminals_code_has_its_margin_and_whole_lines() -> None:
    text = qr.terminal_text(keys.new_key())

    assert qr_reader.margins(qr_reader.from_half_blocks(text)) == (4, 5, 4, 4)
    assert {len(line) for line in text.splitlines()} == {37}
    assert text.endswith("\n")


def test_nobody_pays_for_the_library_who_pairs_nothing() -> None:
    program = "import sys, podiumd.gateway.control; sys.exit('segno' in sys.modules)"
    daemon = Path(__file__).parents[2] / "daemon"

    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(daemon)}, check=False
    )

    assert done.returncode == 0
