"""Turns of a test's own: what carries a turn's marker is ended with it, on the whole machine."""

import uuid


def fresh_turn() -> str:
    """A turn that no other test has, of this run of the suite or of another beside it."""
    return f"test-{uuid.uuid4()}"
