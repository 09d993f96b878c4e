"""Images of a prompt as an agent gets them that cannot read files."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

from podiumd.drivers.base import Image


def inline(images: Iterable[Image]) -> tuple[tuple[str, str], ...]:
    """Return the media type of each, and its bytes in base64. Blocks. Raises ``OSError``."""
    return tuple(
        (one.media_type, base64.b64encode(Path(one.path).read_bytes()).decode()) for one in images
    )
