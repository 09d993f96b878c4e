"""A hold on the writer's thread."""

from __future__ import annotations

import threading


class Gate:
    """Counts commits, and holds the writer's thread before one while it is shut."""

    def __init__(self) -> None:
        self.commits = 0
        self.open = threading.Event()
        self.open.set()

    def failpoint(self, name: str) -> None:
        if name == "store.before-commit":
            self.open.wait()
        else:
            self.commits += 1
