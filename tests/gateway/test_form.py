"""Forms as clients send them, in pieces of any size, and forms that no client should send."""

from __future__ import annotations

import json
from typing import cast

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.http.exchange import Problem, Request, Response, TooLarge
from podiumd.gateway.http.form import File, Form, read_form
from tests.examples import examples
from tests.gateway.harness import Apps, served, status, talk

BOUNDARY = "----podium1234"
KIND = f"multipart/form-data; boundary={BOUNDARY}"
FILE_BYTES = 1000
FIELD_BYTES = 200


def part(name: str, data: bytes, filename: str | None = None, kind: str = "") -> bytes:
    """One part of a form, as browsers and curl write it."""
    file = "" if filename is None else f'; filename="{filename}"'
    typed = f"Content-Type: {kind}\r\n" if kind else ""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n{typed}\r\n'
    return head.encode() + data + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


class Pieces:
    """A request whose body arrives in these pieces."""

    def __init__(self, *pieces: bytes, kind: str) -> None:
        self.headers = {"content-type": kind}
        self._pieces = iter(pieces)
        self._limit = 0

    def chunks(self, limit: int) -> Pieces:
        self._limit = limit
        return self

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        piece = next(self._pieces, None)
        if piece is None:
            raise StopAsyncIteration
        self._limit -= len(piece)
        if self._limit < 0:
            raise TooLarge(0)
        return piece


async def form_of(*pieces: bytes, kind: str = KIND) -> Form:
    request = cast("Request", Pieces(*pieces, kind=kind))
    return await read_form(request, file_bytes=FILE_BYTES, field_bytes=FIELD_BYTES)


async def problem_of(*pieces: bytes, kind: str = KIND) -> Problem:
    with pytest.raises(Problem) as caught:
        await form_of(*pieces, kind=kind)
    return caught.value


async def test_a_form_has_fields_and_a_file() -> None:
    form = await form_of(
        part("language", b"de"),
        part("file", b"\x00RIFF\r\n--", "note.m4a", "audio/mp4; codecs=x"),
        part("text", "grüß".encode()),
        END,
    )

    assert form.fields == {"language": "de", "text": "grüß"}
    assert form.file == File("note.m4a", "audio/mp4", b"\x00RIFF\r\n--")


async def test_names_come_in_utf_8() -> None:
    form = await form_of(part("file", b"x", "Tür.ogg"), END)

    assert form.file == File("Tür.ogg", "", b"x")


@given(st.data(), st.binary(max_size=300))
@examples(60)
def test_a_form_reads_the_same_however_it_is_cut(data: st.DataObject, sound: bytes) -> None:
    whole = part("file", sound, "a.wav") + part("language", b"en") + END
    if f"\r\n--{BOUNDARY}".encode() in sound:
        return
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    form = trio.run(lambda: form_of(*pieces))

    assert form == Form({"language": "en"}, File("a.wav", "", sound))


@pytest.mark.parametrize(
    ("pieces", "why"),
    [
        ([], "ends before"),
        ([b"nonsense"], "told apart"),
        ([part("a", b"1")], "ends before"),
        ([part("a", b"1"), part("a", b"2"), END], "'a' twice"),
        ([part("file", b"1", "a"), part("file", b"2", "b"), END], "'file' twice"),
        ([part("sound", b"1", "a.wav"), END], "has to be called 'file'"),
        ([part("a", b"\xff"), END], "'a' is no UTF-8"),
        ([part("", b"1"), END], "names it"),
        ([f"--{BOUNDARY}\r\nX: y\r\n\r\nv\r\n".encode(), END], "names it"),
        ([f"--{BOUNDARY}\r\nX: \xff\r\n\r\nv\r\n".encode("latin-1"), END], "no UTF-8"),
        ([*(part(f"n{n}", b"") for n in range(33)), END], "more than 32 parts"),
        ([b"--" + BOUNDARY.encode() + b"\r\nX: " + b"y" * 9000], "told apart"),
    ],
)
async def test_a_form_that_cannot_be_read_says_why(pieces: list[bytes], why: str) -> None:
    problem = await problem_of(*pieces)

    assert problem.status == 400 and why in problem.detail


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary="])
async def test_a_form_without_a_boundary_is_refused(kind: str) -> None:
    assert (await problem_of(END, kind=kind)).status == 400


async def test_a_boundary_that_no_client_uses_is_refused() -> None:
    kind = "multipart/form-data; boundary=" + "x" * 5000

    assert "too long" in (await problem_of(END, kind=kind)).detail


async def test_a_file_and_the_fields_have_their_bounds() -> None:
    fits = await form_of(part("file", b"x" * FILE_BYTES, "a"), END)
    assert fits.file is not None and len(fits.file.data) == FILE_BYTES

    assert (await problem_of(part("file", b"x" * (FILE_BYTES + 1), "a"), END)).status == 413
    fields = [part(name, b"x" * 101) for name in "ab"]
    assert (await problem_of(*fields, END)).status == 413


async def test_a_declared_length_over_the_bound_is_refused_unread() -> None:
    apps = Apps()

    async def take(request: Request) -> Response:
        request.authenticated()
        form = await read_form(request, file_bytes=FILE_BYTES, field_bytes=FIELD_BYTES)
        return Response(200, json.dumps(form.fields).encode())

    apps.http = take
    head = (
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n"
        f"Content-Type: {KIND}\r\n\r\n"
    )
    async with served(apps) as gateway:
        body = part("a", b"1") + END
        assert status(await talk(gateway, head.format(len(body)).encode() + body)) == 200
        assert status(await talk(gateway, head.format(10**9).encode())) == 413
