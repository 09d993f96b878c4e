"""The pinned Codex says what Podium reads of it, and takes what Podium sends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podiumd.formats.codex.drift import definitions_of, lacking
from tests.codex.used_schema import FILE, used, written

pytestmark = pytest.mark.codex


def test_the_stored_part_of_the_schema_is_that_of_the_pinned_program(codex_binary: Path) -> None:
    theirs = definitions_of(written(codex_binary))
    stored = json.loads(FILE.read_text())
    assert stored == used(theirs), "write it anew: python -m tests.codex.used_schema"
    assert lacking(stored, theirs) == ()
