"""Whenever a write is killed, the file is the old one or the new one, and nothing else is left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.long import sampled
from tests.patience import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["file.txt", "new/file.txt"]))
def test_a_write_that_is_killed_at_any_file_call_leaves_no_torn_file(
    tmp_path: Path, name: str
) -> None:
    done = subprocess.run(
        [sys.executable, f"{ROOT}/tests/tools/killed_write.py", f"{tmp_path}", name],
        env={**os.environ, "PYTHONPATH": f"{ROOT}/daemon"},
        capture_output=True,
        check=True,
        timeout=HANG_SECONDS,
    )
    rows = json.loads(done.stdout)

    assert len(rows) > 40 and not rows[-1]["killed"]
    files = [row["file"] for row in rows]
    turn = files.index("new")
    # First always the old one, from one moment on always the new one.
    assert set(files[:turn]) == {"old"} and set(files[turn:]) == {"new"}
    assert all(row["look"] == {"old": "before", "new": "planned"}[row["file"]] for row in rows)
    assert [row["rest"] for row in rows if row["rest"]] == []
