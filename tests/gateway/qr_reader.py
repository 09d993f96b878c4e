"""Reads a QR code of version 3 (29 x 29 modules), written from the standard's own description.

Enough of a reader to know what a phone's camera would: no error correction, since nothing of the
code is damaged, and one block of data, as version 3 has at level L.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

SIZE = 29
QUIET = 4
LEVEL_L = 0b01
BYTE_MODE = 0b0100

Modules = list[list[bool]]


def from_half_blocks(text: str) -> Modules:
    """The dark modules of lines of half blocks, with whatever margin there is."""
    halves = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
    rows: Modules = []
    for line in text.splitlines():
        rows.append([bool(halves[one][0]) for one in line])
        rows.append([bool(halves[one][1]) for one in line])
    return rows


def from_png(data: bytes, scale: int) -> Modules:
    """The dark modules of a grey picture of one bit a pixel: every ``scale``-th of them."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, width = 8, b"", 0
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack_from(">IIBB", body)
            assert (depth, colour) == (1, 0), "one bit of grey a pixel"
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, stride = zlib.decompress(packed), 1 + (width + 7) // 8
    lines = [bytes(stride - 1)]
    for start in range(0, len(raw), stride):
        filtered, line = raw[start], raw[start + 1 : start + stride]
        assert filtered in (0, 2), "as it is, or as the difference to the line above"
        above = lines[-1] if filtered else bytes(stride - 1)
        lines.append(bytes((one + two) & 255 for one, two in zip(line, above, strict=True)))
    return [
        [not line[x // 8] >> (7 - x % 8) & 1 for x in range(0, width, scale)]
        for line in lines[1::scale]
    ]


def margins(modules: Modules) -> tuple[int, int, int, int]:
    """Light rows above and below, light columns left and right."""
    dark_rows = [at for at, row in enumerate(modules) if any(row)]
    dark_columns = [at for at in range(len(modules[0])) if any(row[at] for row in modules)]
    return (
        dark_rows[0],
        len(modules) - 1 - dark_rows[-1],
        dark_columns[0],
        len(modules[0]) - 1 - dark_columns[-1],
    )


def read(modules: Modules) -> str:
    """The text of a code that has its margin of QUIET modules around it."""
    inner = [row[QUIET : QUIET + SIZE] for row in modules[QUIET : QUIET + SIZE]]
    level, mask = _format(inner)
    assert level == LEVEL_L
    bits = [inner[row][column] ^ _masked(mask, row, column) for row, column in _path()]
    assert _number(bits[:4]) == BYTE_MODE
    count = _number(bits[4:12])
    return bytes(_number(bits[12 + 8 * n : 20 + 8 * n]) for n in range(count)).decode()


def _format(modules: Modules) -> tuple[int, int]:
    across = [modules[8][column] for column in (0, 1, 2, 3, 4, 5, 7, 8)]
    up = [modules[row][8] for row in (7, 5, 4, 3, 2, 1, 0)]
    told = _number(across + up) ^ 0b101010000010010
    return told >> 13, told >> 10 & 0b111


def _masked(mask: int, row: int, column: int) -> bool:
    product = row * column
    return (
        (row + column) % 2,
        row % 2,
        column % 3,
        (row + column) % 3,
        (row // 2 + column // 3) % 2,
        product % 2 + product % 3,
        (product % 2 + product % 3) % 2,
        ((row + column) % 2 + product % 3) % 2,
    )[mask] == 0


def _path() -> Iterator[tuple[int, int]]:
    """The modules that hold data, in order: up and down in pairs of columns from the right."""
    upward = True
    for right in (*range(SIZE - 1, 6, -2), 5, 3, 1):
        for row in range(SIZE - 1, -1, -1) if upward else range(SIZE):
            for column in (right, right - 1):
                if not _is_pattern(row, column):
                    yield row, column
        upward = not upward


def _is_pattern(row: int, column: int) -> bool:
    finders = (row < 9 and (column < 9 or column > SIZE - 9)) or (row > SIZE - 9 and column < 9)
    return finders or 6 in (row, column) or (20 <= row <= 24 and 20 <= column <= 24)


def _number(bits: list[bool]) -> int:
    value = 0
    for bit in bits:
        value = value << 1 | bit
    return value
