"""Copies of the images of prompts: where they are, for the agent that gets them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podiumd.core.run.fact import RunImage
from podiumd.drivers.base import Image


def folder_of(state: Path, run_id: str) -> Path:
    """Return the directory of a prompt's images in STATE."""
    return state / "images" / run_id


def kept_images(state: Path, run_id: str, images: Sequence[RunImage]) -> tuple[Image, ...]:
    """List the copies of a prompt's images."""
    folder = folder_of(state, run_id)
    return tuple(Image(str(folder / one.name), one.media_type) for one in images)
