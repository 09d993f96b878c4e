"""``facts.db`` as earlier releases left it, from what is recorded beside this file.

``facts-v2.sql`` is the database of a killed daemon with the scripted agent: a prompt that has
ended, a run that ended after its gate was answered, and one that waits at the same gate.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

PROMPT = "3559de25-6397-4d49-9867-285d1e51867a"
ENDED = "1b51b8f7-ca90-4cd6-9eb6-b70935f824ee"
WAITING = "216a4905-4cec-458e-80bf-616da319d6c0"
FACTS = 26


def recorded(directory: Path, schema: int = 2) -> Path:
    """Put the database of a release into STATE; returns its path."""
    path = directory / "facts.db"
    with closing(sqlite3.connect(path)) as connection:
        text = Path(__file__).with_name(f"facts-v{schema}.sql").read_text(encoding="utf-8")
        connection.executescript(text)
    path.chmod(0o600)
    return path
