"""What is to be read waits for it in few bytes, not as a hundred thousand small objects."""

from __future__ import annotations

import gc
import sys

from podiumd.sessions.index.bulk import BATCH_FILES, batches_of, packed, unpacked
from podiumd.sessions.index.tree import Found

COUNT = 4 * BATCH_FILES


def files(name: str) -> list[Found]:
    return [
        Found(f"{number:036}", "claude", f"/{'p' * 80}/{name}{number:036}.jsonl", 1, number, 9, 5)
        for number in range(COUNT)
    ]


def test_what_waits_is_as_it_was_and_takes_no_object_a_file() -> None:
    found, batches = files("-"), list(batches_of(files("-")))
    blocks = sys.getallocatedblocks()
    packs = packed(found)
    assert found == []
    gc.collect()
    assert sys.getallocatedblocks() - blocks < -COUNT
    assert [unpacked(pack) for pack in packs] == batches


def test_a_batch_with_a_path_that_is_no_text_waits_as_it_is() -> None:
    assert [file for pack in packed(files("\udcff")) for file in unpacked(pack)] == files("\udcff")
