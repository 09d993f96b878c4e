"""Frames by hand, and the meter of incoming ones."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from podiumd.gateway.frames import (
    FRAGMENT_BYTES,
    PING,
    Meter,
    close_frame,
    is_close_frame,
    text_frame,
)


def read(data: bytes) -> Frame:
    """What an independent parser makes of one frame of a server."""
    reader = StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    parsing = Frame.parse(reader.read_exact, mask=False)
    while True:
        try:
            next(parsing)
        except StopIteration as done:
            frame: Frame = done.value
            return frame


def sent(opcode: Opcode, data: bytes, fin: bool = True) -> bytes:
    """A frame as a client sends it."""
    return Frame(opcode, data, fin).serialize(mask=True)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536, 2_000_000])
def test_a_text_frame_is_what_another_library_reads(size: int) -> None:
    payload = b"a" * size
    frame = read(text_frame(payload))

    assert (frame.opcode, bytes(frame.data), frame.fin) == (Opcode.TEXT, payload, True)


def test_a_close_frame_holds_code_and_reason_cut_between_characters() -> None:
    frame = read(close_frame(1009, "ö" * 100))

    assert frame.opcode is Opcode.CLOSE
    assert struct.unpack("!H", bytes(frame.data[:2])) == (1009,)
    assert bytes(frame.data[2:]).decode() == "ö" * 61


def test_a_close_frame_is_told_from_others() -> None:
    assert is_close_frame(close_frame(1000))
    assert not any(is_close_frame(data) for data in (PING, text_frame(b"\x88"), b"HTTP/1.1", b""))


@given(st.lists(st.tuples(st.integers(0, 70_000), st.integers(1, 3)), max_size=4), st.data())
def test_the_meter_counts_messages_however_the_bytes_are_cut(
    messages: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Each message in so many fragments, a ping after each fragment."""
    wire = b""
    for size, fragments in messages:
        step = size // fragments
        for number in range(fragments):
            last = number == fragments - 1
            part = b"x" * (size - step * number if last else step)
            wire += sent(Opcode.CONT if number else Opcode.TEXT, part, last)
            wire += sent(Opcode.PING, b"still here")
    cuts = data.draw(st.lists(st.integers(0, len(wire)), max_size=6).map(sorted))
    meter = Meter()
    largest = [
        meter.feed(wire[start:end])
        for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)
    ]

    assert meter.messages == len(messages)
    assert meter.begun == 0
    sizes = [size + FRAGMENT_BYTES * (fragments - 1) for size, fragments in messages]
    assert max(largest) == max(sizes, default=0)


def test_fragments_without_payload_add_up() -> None:
    meter = Meter()
    meter.feed(sent(Opcode.TEXT, b"", fin=False))

    assert meter.feed(sent(Opcode.CONT, b"", fin=False) * 1000) == 1000 * FRAGMENT_BYTES


def test_the_meter_believes_a_header_before_any_payload() -> None:
    meter = Meter()

    assert meter.feed(b"\x81\xff" + (1 << 40).to_bytes(8, "big") + b"mask") == 1 << 40
    assert (meter.begun, meter.messages) == (1 << 40, 0)


def test_the_meter_reads_a_header_byte_by_byte() -> None:
    meter = Meter()
    sizes = [meter.feed(bytes([byte])) for byte in sent(Opcode.TEXT, b"x" * 300)]

    assert sizes[:7] == [0] * 7 and set(sizes[7:]) == {300}
    assert meter.messages == 1
