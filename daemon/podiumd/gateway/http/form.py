"""``multipart/form-data`` as it arrives: small fields, and one file, each up to its bound."""

from __future__ import annotations

import logging
from typing import Final

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from podiumd.gateway.http.exchange import Problem, Request, TooLarge

FIELD_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one field: a text of 1 MiB is far below it."""

MOST_PARTS: Final = 32
AROUND_BYTES: Final = 64 * 1024
"""Bytes of a form, beside its file and its fields."""

FORM: Final = "multipart/form-data"

# The sender of a form gets its faults; the library would print them on standard error as well.
logging.getLogger("python_multipart").addHandler(logging.NullHandler())


class File(msgspec.Struct, frozen=True):
    """A file in a form. ``content_type`` is the sender's, ``""`` for none."""

    filename: str
    content_type: str
    data: bytes


class Form(msgspec.Struct, frozen=True):
    """The fields in their order; ``file`` is the part of that name, where it is a file."""

    fields: dict[str, str]
    file: File | None


def media_type(request: Request) -> str:
    """Return the type of a request's body without its parameters, ``""`` where it has none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_form(request: Request, *, file_bytes: int, field_bytes: int = FIELD_BYTES) -> Form:
    """Read the form that a request has for its body; its file may have ``file_bytes``.

    Raises:
        Problem: 400, it is no such form; ``TooLarge`` (413), before it is read where its length
            is declared; what ``Request.chunks`` raises.
    """
    _, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise Problem(400, detail="The Content-Type of a form has to name its boundary.")
    reader = _Reader(boundary, file_bytes, field_bytes)
    async for chunk in request.chunks(file_bytes + field_bytes + AROUND_BYTES):
        reader.feed(chunk)
    return reader.form()


class _Reader:
    """Takes a form to pieces."""

    def __init__(self, boundary: bytes, file_bytes: int, field_bytes: int) -> None:
        self._file_bytes = file_bytes
        self._field_bytes = field_bytes
        self._fields: dict[str, str] = {}
        self._fields_size = 0
        self._file: File | None = None
        self._parts = 0
        self._ended = False
        self._header = bytearray()
        self._value = bytearray()
        self._headers: dict[str, str] = {}
        self._name = ""
        self._filename: str | None = None
        self._data = bytearray()
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._add_header,
                    "on_header_value": self._add_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._end_headers,
                    "on_part_data": self._add_data,
                    "on_part_end": self._end,
                    "on_end": self._end_form,
                },
            )
        except FormParserError:
            raise _malformed("its boundary is too long") from None

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the body. Raises ``Problem``."""
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise _malformed("its parts cannot be told apart") from None

    def form(self) -> Form:
        """Return the form, which has to have arrived whole. Raises ``Problem``."""
        if not self._ended:
            raise _malformed("it ends before its last boundary")
        return Form(self._fields, self._file)

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise _malformed(f"it has more than {MOST_PARTS} parts")
        self._headers, self._data = {}, bytearray()

    def _add_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        name = self._header.decode("latin-1").lower()
        self._headers[name] = _text(self._value, "a header of a part")
        self._header, self._value = bytearray(), bytearray()

    def _end_headers(self) -> None:
        self._name, self._filename = _disposition(self._headers.get("content-disposition", ""))
        if self._name in self._fields or (self._name == "file" and self._file is not None):
            raise _malformed(f"it has '{self._name[:64]}' twice")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._data += data[start:end]
        if self._filename is not None and len(self._data) > self._file_bytes:
            raise TooLarge(self._file_bytes)
        if self._filename is None and self._fields_size + len(self._data) > self._field_bytes:
            raise TooLarge(self._field_bytes)

    def _end(self) -> None:
        if self._filename is None:
            self._fields_size += len(self._data)
            self._fields[self._name] = _text(self._data, f"'{self._name[:64]}'")
            return
        if self._name != "file":
            raise _malformed(f"the file is called '{self._name[:64]}' and has to be called 'file'")
        kind = self._headers.get("content-type", "").partition(";")[0].strip().lower()
        self._file = File(self._filename, kind, bytes(self._data))

    def _end_form(self) -> None:
        self._ended = True


def _disposition(header: str) -> tuple[str, str | None]:
    """Return the name of a part, and that of its file where it is one. Raises ``Problem``."""
    kind, options = parse_options_header(header.encode("utf-8").decode("latin-1"))
    name = options.get(b"name", b"").decode("utf-8", "replace")
    if kind != b"form-data" or not name:
        raise _malformed("a part has no Content-Disposition that names it")
    filename = options.get(b"filename")
    return name, None if filename is None else filename.decode("utf-8", "replace")


def _text(data: bytes | bytearray, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed(f"{what} is no UTF-8") from None


def _malformed(why: str) -> Problem:
    return Problem(400, detail=f"The form cannot be read: {why}.")
