"""What holds for every agent's session files, whatever is in them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.json_fields import read_object
from podiumd.formats.message import Message
from podiumd.formats.session import Cursor, Entry, SessionFormat, Summary, identity_of
from podiumd.formats.session_formats import FORMATS
from tests.formats import fixtures, hostile

EVERY = pytest.mark.parametrize("format", FORMATS.values(), ids=list(FORMATS))
RECORDED = pytest.mark.parametrize(("agent", "data"), fixtures.transcripts())


def folded(format: SessionFormat, *chunks: bytes) -> Summary:
    summary = Summary()
    for chunk in chunks:
        format.fold(summary, chunk)
    return summary


def placed(format: SessionFormat, *chunks: bytes) -> tuple[Cursor, list[Entry]]:
    found: list[Entry] = []
    cursor, offset = Cursor(), 0
    for chunk in chunks:
        found += format.entries(cursor, chunk, offset)
        offset += len(chunk)
    return cursor, found


def cut(lines: list[bytes], sizes: list[int]) -> list[bytes]:
    """The lines in chunks of so many lines, the last chunk with the rest."""
    chunks: list[bytes] = []
    at = 0
    for size in [*sizes, len(lines)]:
        chunks.append(b"".join(line + b"\n" for line in lines[at : at + size]))
        at += size
    return chunks


def agrees(format: SessionFormat, lines: list[bytes]) -> None:
    """The entries, the messages and the summary tell of the same messages.

    A message is a line, or stands within one.
    """
    data = b"".join(line + b"\n" for line in lines)
    _, entries = placed(format, data)
    holding, start = 0, 0
    for line in lines:
        end = start + len(line)
        inside = [entry for entry in entries if start <= entry.offset < end]
        whole = [entry for entry in inside if entry.length == len(line)]
        assert (format.message(line) is not None) == (len(whole) == 1), line
        for entry in inside:
            assert entry.offset + entry.length <= end
            message = format.message(data[entry.offset : entry.offset + entry.length])
            assert message is not None and message.role == entry.role
            assert entry.identity in {identity_of(message.uuid), _hex(message.uuid)}
            assert msgspec.json.decode(msgspec.json.encode(message), type=Message).role
        holding += bool(inside)
        start = end + 1
    summary = folded(format, data)
    assert summary.messages == holding
    assert summary.lines == len(lines)
    objects = [read_object(line, errors="replace") for line in lines if line.strip()]
    assert summary.bad_lines == sum(1 for found in objects if isinstance(found, str))


def _hex(uuid: str) -> bytes:
    try:
        return bytes.fromhex(uuid)
    except ValueError:
        return b""


@EVERY
@given(lines=hostile.LINES)
def test_entries_messages_and_summary_agree_on_any_lines(
    format: SessionFormat, lines: list[bytes]
) -> None:
    agrees(format, lines)


@RECORDED
def test_entries_messages_and_summary_agree_on_what_was_recorded(agent: str, data: bytes) -> None:
    lines = data.splitlines()
    agrees(FORMATS[agent], lines)
    assert folded(FORMATS[agent], data).bad_lines == 0


@EVERY
@pytest.mark.parametrize("line", hostile.BROKEN, ids=range(len(hostile.BROKEN)))
def test_a_broken_line_is_counted_and_is_no_message(format: SessionFormat, line: bytes) -> None:
    assert format.message(line) is None
    assert folded(format, line + b"\n") == Summary(lines=1, bad_lines=int(bool(line.strip())))
    assert placed(format, line + b"\n") == (Cursor(), [])


@EVERY
def test_an_object_on_two_lines_is_not_made_up_for_by_two_on_one(format: SessionFormat) -> None:
    data = b'{"a":\n{}}\n{}{}\n'
    assert folded(format, data) == Summary(lines=3, bad_lines=3)
    assert folded(format, b'{"a":1}\n{}{}\n').bad_lines == 1


@EVERY
@given(lines=hostile.LINES, sizes=st.lists(st.integers(0, 4), max_size=5))
def test_where_the_chunks_are_cut_makes_no_difference(
    format: SessionFormat, lines: list[bytes], sizes: list[int]
) -> None:
    chunks = cut(lines, sizes)
    assert folded(format, *chunks) == folded(format, b"".join(chunks))
    assert placed(format, *chunks) == placed(format, b"".join(chunks))


@RECORDED
def test_a_recorded_file_may_come_line_by_line(agent: str, data: bytes) -> None:
    lines = data.splitlines(keepends=True)
    assert folded(FORMATS[agent], *lines) == folded(FORMATS[agent], data)
    assert placed(FORMATS[agent], *lines) == placed(FORMATS[agent], data)


@EVERY
def test_what_follows_the_last_newline_is_no_line_yet(format: SessionFormat) -> None:
    whole, torn = b'{"type": "mode"}\n', b'{"type": "user"}'
    assert folded(format, whole + torn) == folded(format, whole)
    assert placed(format, whole + torn) == placed(format, whole)


def test_every_format_is_known_by_its_agents_name() -> None:
    assert {name: each.agent for name, each in FORMATS.items()} == {
        "acp": "acp",
        "claude": "claude",
        "codex": "codex",
        "native": "native",
        "qwen": "qwen",
        "gemini": "gemini",
        "kimi": "kimi",
        "copilot": "copilot",
    }


def test_the_words_of_a_summary_are_all_that_it_shows_of_the_file() -> None:
    summary = Summary(title="A title", prompt="First", preview="Last", cwd="/project")
    assert summary.words == "A title First Last /project"
