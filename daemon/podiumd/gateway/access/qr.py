"""A key as a QR code: half blocks for a terminal, PNG for a picture.

The code holds the bare key, which is what the apps that exist read; address and port are typed.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import segno

QUIET_MODULES: Final = 4  # the light margin that the standard asks for
PNG_SCALE: Final = 10  # pixels a module

_HALVES: Final = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}  # (upper, lower) dark


def terminal_text(words: str) -> str:
    """Draw the code as lines of half blocks, two rows of modules a line, the margin included.

    A drawn half is dark: it takes black ink on white paper, independent of the terminal's own
    colours.
    """
    rows = [bytearray(row) for row in _code(words).matrix_iter(scale=1, border=QUIET_MODULES)]
    rows.append(bytearray(len(rows[0])))  # a code has an odd number of rows
    return "".join(
        "".join(_HALVES[halves] for halves in zip(upper, lower, strict=True)) + "\n"
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    )


def png(words: str) -> bytes:
    """Draw the code as a black and white PNG."""
    picture = io.BytesIO()
    _code(words).save(picture, kind="png", scale=PNG_SCALE, border=QUIET_MODULES)
    return picture.getvalue()


def _code(words: str) -> segno.QRCode:
    import segno  # only when a person pairs

    # Level L, as the existing server shows it: the fewest and so the largest modules.
    return segno.make_qr(words, error="l", boost_error=False)
