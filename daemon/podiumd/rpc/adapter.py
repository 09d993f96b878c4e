"""JSON-RPC 2.0 with jsonrpcserver's parts, mended: the only module that knows that library.

The library makes requests, calls methods and makes responses. What it lacks is done here: its
dispatch needs asyncio, one bad entry spoils its batches, it takes NaN as an id, and it sends
exception texts to the client.

A line is decoded into its method's struct at once. Only one that does not fit is looked at again,
for the words that say what is wrong.
"""

from __future__ import annotations

import gc
import re
import secrets
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, cast

import msgspec
import trio

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the library's, on import
    from jsonrpcserver import Error, Success
    from jsonrpcserver.async_dispatcher import call as call_method
    from jsonrpcserver.dispatcher import to_response
    from jsonrpcserver.request import Request
    from jsonrpcserver.response import to_serializable_one
    from jsonrpcserver.sentinels import NODATA, NOID
    from oslash.either import Right

from podiumd.core.findings import nearest
from podiumd.observe.logs import log
from podiumd.rpc.params import fault_of
from podiumd.runtime.errors import Overloaded, PodiumError
from podiumd.store.errors import StoreFull
from podiumd.wire import method as wire
from podiumd.wire.event import Event
from podiumd.wire.method import Pace, Scope
from podiumd.wire.refusals import RefusalData
from podiumd.wording import quoted

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
DISK_FULL: Final = "The disk is full: nothing was stored. Free some space and try again."
DISK_FULL_RETRY_MS: Final = 5000

Context = TypeVar("Context")
P = TypeVar("P", bound=msgspec.Struct)
R = TypeVar("R")


class Method(NamedTuple, Generic[Context]):
    """A method: its parameters as a struct, its handler, how long it may take, and whether it
    ``reads`` alone."""

    name: str
    params: type[msgspec.Struct]
    handler: Callable[[Context, Any], Awaitable[Any]]
    doc: str
    pace: Pace = "ordered"
    reads: bool = False
    needs: Scope = "all"


def bind(
    declared: wire.Method[P, R], handler: Callable[[Context, P], Awaitable[R]]
) -> Method[Context]:
    """Return a declared method with its handler."""
    return Method(
        declared.name,
        declared.params,
        handler,
        declared.purpose,
        declared.pace,
        declared.reads,
        declared.needs,
    )


class _Entry:
    """A method, with its handler as the library calls it and the decoder of its parameters.

    ``bare`` are its parameters where none are given; ``None`` where some must be.
    """

    __slots__ = ("bare", "call", "decode", "method")

    def __init__(self, method: Method[Any]) -> None:
        self.method = method
        self.call = _guarded(method)
        self.decode = msgspec.json.Decoder(method.params).decode
        self.bare: msgspec.Struct | None = None
        fields = msgspec.structs.fields(method.params)
        if all(one.default is not msgspec.NODEFAULT for one in fields):  # none is made for each
            self.bare = self.decode(b"{}")


def _never() -> bool:
    return False


class Call(msgspec.Struct):
    """A request, ready to run; that of one that is wrong returns the error.

    ``reads``: it does nothing but make its answer, and need not begin once ``gone`` says that no
    client will read it. To the library it is a ``Request``: it has the fields of that tuple, which
    is slower to make.
    """

    method: str
    params: list[msgspec.Struct]
    id: Any
    handler: Callable[..., Awaitable[Any]]
    pace: Pace
    reads: bool

    @property
    def size(self) -> int:
        """Return how many requests it is."""
        return 1

    async def run(self, context: Any, gone: Callable[[], bool] = _never) -> bytes | None:
        """Run it; the answer ends with a newline, ``None``: there is none."""
        if self.reads and gone():
            return None
        request: Any = self
        result = await call_method(request, context, self.handler)
        if self.id is NOID:
            return None
        try:
            if isinstance(result, Right):
                return _encode(_Success(result._value.result, self.id)) + b"\n"  # noqa: SLF001
            return _failure(self.id, result)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            return _failure(self.id, _internal_error(self.method, error))


class Batch(msgspec.Struct):
    """Several requests of one line, answered together.

    ``most_bytes``: of answers; the requests after those that reach it are refused, not run.
    """

    calls: list[Call]
    most_bytes: int
    pace: Pace = "waiting"

    @property
    def size(self) -> int:
        """Return how many requests it is."""
        return len(self.calls)

    async def run(self, context: Any, gone: Callable[[], bool] = _never) -> bytes | None:
        """Run them in order, those that wait beside the others; the answer is like a ``Call``'s."""
        answers: list[bytes | None] = [None] * len(self.calls)
        gathered = 0

        async def run_one(index: int, call: Call) -> None:
            nonlocal gathered
            answers[index] = answer = await call.run(context)
            gathered += len(answer or b"")

        async with trio.open_nursery() as nursery:
            for index, call in enumerate(self.calls):
                if call.reads and gone():
                    continue
                if call.pace == "waiting":
                    nursery.start_soon(run_one, index, call)
                elif gathered < self.most_bytes:
                    await run_one(index, call)
                    await trio.lowlevel.checkpoint()  # a long batch must not hold up the others
                elif call.id is not NOID:
                    answers[index] = _failure(call.id, _batch_is_full(self.most_bytes))
        return _joined([answer for answer in answers if answer is not None])


_NOT_GIVEN: Final = msgspec.Raw(b"{}")


class _Envelope(msgspec.Struct):
    """A request as it may come. Unknown members, and one that comes twice, are skipped without a
    look at whether they are UTF-8: the line is looked at before."""

    jsonrpc: Literal["2.0"]
    method: str
    params: msgspec.Raw = _NOT_GIVEN
    id: str | int | float | None = cast(None, NOID)


class _Success(msgspec.Struct, tag_field="jsonrpc", tag="2.0"):
    """The library's ``serialize_success`` of a ``SuccessResponse``, in one step."""

    result: Any
    id: Any


_decode_envelope: Final = msgspec.json.Decoder(_Envelope).decode
_decode_any: Final = msgspec.json.Decoder().decode
_decode_entries: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode: Final = msgspec.json.Encoder().encode
_TWICE: Final = "a member stands in it twice, once as it may not be"
_UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError)
_NOT_AT_ONCE: Final = (KeyError, *_UNDECODABLE)
_AFTER_SURROGATE: Final = re.compile("truncated|hex escape")
"""The library's words where it misses the second half of a pair, depending on what stands there."""
_LONE_SURROGATE: Final = re.compile(
    rb"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}(?:[^\\]|\\[^u]|\\u(?![dD][c-fC-F]).)"
)
_LONG_LINE: Final = 64 * 1024
"""Bytes of a line for which the collector pauses; a shorter one holds too few objects to matter."""


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause Python's garbage collector for one decode that waits for nothing.

    A line within its limit may hold millions of lists. Again and again, while they are made, the
    collector would walk through all of them and find no garbage. That is nine tenths of the time,
    in which the daemon serves no client.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Adapter(Generic[Context]):
    """Turns lines into calls and calls into answer lines, for one table of methods."""

    def __init__(
        self, methods: Iterable[Method[Context]], batch_entries: int, batch_bytes: int
    ) -> None:
        self._entries = {method.name: _Entry(method) for method in methods}
        self._batch_entries = batch_entries
        self._batch_bytes = batch_bytes

    def read(self, line: bytes | bytearray) -> Call | Batch:
        """Decode one line; what is wrong with it becomes a call that answers so."""
        if len(line) > _LONG_LINE and gc.isenabled():
            with _collector_paused():
                return self.read(line)
        try:
            if not line.isascii():
                line.decode()
            envelope = _decode_envelope(line)
            entry = self._entries[envelope.method]
            given = envelope.params
            bare = entry.bare if given is _NOT_GIVEN else None
            params = entry.decode(given) if bare is None else bare
        except _NOT_AT_ONCE:
            return self._read_carefully(line)
        # As ``_call`` does, but a call less for each request.
        method = entry.method
        return Call(method.name, [params], envelope.id, entry.call, method.pace, method.reads)

    def _read_carefully(self, line: bytes | bytearray) -> Call | Batch:
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return _unreadable(error, line)
        return self._read_batch(line) if line.lstrip()[:1] == b"[" else self._read_one(line)

    def refuse(self, work: Call | Batch, refusal: PodiumError) -> bytes:
        """Return the answer of a line that is not run at all; empty where none is expected."""
        calls = work.calls if isinstance(work, Batch) else [work]
        error = _error(refusal.code, refusal.message, refusal.told)
        answers = [_failure(call.id, error) for call in calls if call.id is not NOID]
        if isinstance(work, Batch):
            return _joined(answers) or b""
        return b"".join(answers)

    def _read_batch(self, line: bytes | bytearray) -> Call | Batch:
        try:
            many = len(_decode_any(line))  # a line that is no JSON has no entries
            if not many:
                return _refused(None, INVALID_REQUEST, "Invalid request: the batch is empty.")
            if many > self._batch_entries:  # before each is an object of its own: 72 bytes a "1,"
                return _refused(
                    None,
                    INVALID_REQUEST,
                    f"Invalid request: a batch of {many} entries; at most "
                    f"{self._batch_entries} are taken.",
                )
            entries = _decode_entries(line)
        except _UNDECODABLE as error:
            return _unreadable(error, line)
        near = _Near()
        return Batch([self._read_one(entry, near) for entry in entries], self._batch_bytes)

    def _read_one(self, line: bytes | bytearray | msgspec.Raw, near: _Near | None = None) -> Call:
        try:
            envelope = _decode_envelope(line)
        except _UNDECODABLE:
            return _no_request(line)
        entry = self._entries.get(envelope.method)
        if entry is None:
            return _refused_at_length(envelope.id, lambda: self._no_method(envelope.method, near))
        try:
            params = entry.decode(envelope.params)
        except _UNDECODABLE:
            return _unfit(entry.method, envelope, near)
        return _call(entry, envelope, params)

    def _no_method(self, name: str, near: _Near | None) -> Any:
        hint = (near or _Near()).hint(name, self._entries)
        return Error(METHOD_NOT_FOUND, f"Method not found: {quoted(name)}{hint}.", NODATA)


def _call(entry: _Entry, envelope: _Envelope, params: msgspec.Struct) -> Call:
    method = entry.method
    return Call(method.name, [params], envelope.id, entry.call, method.pace, method.reads)


class _Near:
    """Looks for a known name that is like a wrong one, once in all: that takes a millisecond, and a
    batch may have a thousand wrong ones."""

    def __init__(self) -> None:
        self._looked = False

    def hint(self, name: str, known: Iterable[str]) -> str:
        """Return the end of a sentence about ``name``; empty where it has looked before."""
        if self._looked:
            return ""
        self._looked = True
        return f"; {nearest(name, known)}"


def _no_request(line: bytes | bytearray | msgspec.Raw) -> Call:
    """Answer what is no JSON, or no request."""
    try:
        value = _decode_any(line)
    except _UNDECODABLE as worse:
        return _unreadable(worse, line)
    known = isinstance(value, dict) and _is_id(value.get("id"))
    words = _envelope_fault(value) or _TWICE
    known_id = value.get("id") if known else None
    return _refused(known_id, INVALID_REQUEST, f"Invalid request: {words}.")


def _unreadable(error: Exception, line: bytes | bytearray | msgspec.Raw) -> Call:
    return _refused(None, PARSE_ERROR, f"Parse error: {_syntax_words(error, line)}.")


def _unfit(method: Method[Any], envelope: _Envelope, near: _Near | None) -> Call:
    """Answer a request whose parameters are not those of its method."""
    try:
        given = _decode_any(envelope.params)
    except _UNDECODABLE as error:
        return _unreadable(error, envelope.params)
    if isinstance(given, list):
        words = "parameters are passed by name, so 'params' must be an object"
        data = RefusalData(parameter="params")
        return _refused(envelope.id, INVALID_PARAMS, f"Invalid params: {words}.", data)
    if not isinstance(given, dict):
        return _refused(
            envelope.id, INVALID_REQUEST, "Invalid request: 'params' must be an object."
        )

    def unfit() -> Any:
        parameter, words = fault_of(method.params, given, (near or _Near()).hint)
        return Error(INVALID_PARAMS, f"Invalid params: {words}.", {"parameter": parameter})

    if len(memoryview(envelope.params)) > _LONG_LINE:
        # At once: what is kept for later, the collector walks through as soon as it goes on.
        found = unfit()
        return _refused_at_length(envelope.id, lambda: found)
    return _refused_at_length(envelope.id, unfit)


def notification(method: str, params: Any) -> bytes:
    """Write a notification's line; an event for many clients is written once for all of them.

    Raises TypeError or ValueError for what JSON cannot say.
    """
    if isinstance(params, Event):
        return b"%b%b}\n" % (_opening(method), params.written)
    return _encode({"jsonrpc": "2.0", "method": method, "params": params}) + b"\n"


@cache
def _opening(method: str) -> bytes:
    """Return a notification's line up to its parameters."""
    return b'{"jsonrpc":"2.0","method":%b,"params":' % _encode(method)


def error_line(code: int, message: str, data: RefusalData | None = None) -> bytes:
    """Return an error's line for a client whose request could not even be read (id null)."""
    return _failure(None, _error(code, message, data))


def _failure(id: Any, error: Any) -> bytes:
    return _encode(to_serializable_one(to_response(Request("", [], id), error))) + b"\n"


def _joined(answers: list[bytes]) -> bytes | None:
    """Join the answers of a batch's entries to its answer."""
    return b"[" + b",".join(answer[:-1] for answer in answers) + b"]\n" if answers else None


def _guarded(method: Method[Any]) -> Callable[[Any, Any], Awaitable[Any]]:
    """Wrap the handler for the library; no exception text leaves it."""
    handler = method.handler

    async def guarded(context: Any, params: msgspec.Struct) -> Any:
        try:
            return Success(await handler(context, params))
        except PodiumError as refusal:
            return _error(refusal.code, refusal.message, refusal.told)
        except StoreFull as error:
            log("Store full", "error", method=method.name, file=str(error.file))
            return Error(Overloaded.code, DISK_FULL, {"retry_after_ms": DISK_FULL_RETRY_MS})
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the client gets an id
            return _internal_error(method.name, error)

    return guarded


def _internal_error(method: str, error: Exception) -> Any:
    log_id = secrets.token_hex(6)
    log("Internal error", "error", exception=error, log_id=log_id, method=method)
    return Error(
        INTERNAL_ERROR, f"Internal error; the daemon's log has it as {log_id}.", {"log_id": log_id}
    )


def _error(code: int, message: str, data: RefusalData | None) -> Any:
    return Error(code, message, NODATA if data is None else data)


def _batch_is_full(most_bytes: int) -> Any:
    refusal = Overloaded(
        f"Not done: the answers of this batch have reached {most_bytes} bytes; "
        "send this request again in another one."
    )
    return _error(refusal.code, refusal.message, refusal.told)


def _refused(id: Any, code: int, message: str, data: RefusalData | None = None) -> Call:
    error = _error(code, message, data)

    async def refuse(context: Any) -> Any:
        return error

    return Call("", [], id, refuse, "instant", reads=True)


def _refused_at_length(id: Any, error: Callable[[], Any]) -> Call:
    """Answer with words that take a while to find, a millisecond where a client wants it so.

    They are looked for when it is this request's turn, once others have had theirs.
    """

    async def refuse(context: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return error()

    return Call("", [], id, refuse, "ordered", reads=True)


def _envelope_fault(item: Any) -> str | None:
    """Say what keeps a decoded value from being a request; unknown members are no fault."""
    if not isinstance(item, dict):
        return "a request is an object"
    if item.get("jsonrpc") != "2.0":
        return "'jsonrpc' must be the string '2.0'"
    if "method" not in item:
        return "'method' is missing"
    if not isinstance(item["method"], str):
        return "'method' must be a string"
    if "id" in item and not _is_id(item["id"]):
        return "'id' must be a string, a number or null"
    return None


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, (str, int, float)) and not isinstance(value, bool))


def _syntax_words(error: Exception, line: bytes | bytearray | msgspec.Raw) -> str:
    """Our words for a decoding fault; of the library's only the byte is taken."""
    if isinstance(error, RecursionError):
        return "the line is nested too deeply"
    if isinstance(error, UnicodeError):
        return "the line is not UTF-8"
    if isinstance(error, (msgspec.ValidationError, OverflowError)):
        return "a number in the line is too large"
    text = str(error)
    place = text[text.rfind("(") :] if text.endswith(")") else ""
    if "surrogate" in text or (_AFTER_SURROGATE.search(text) and _LONE_SURROGATE.search(line)):
        return f"a lone surrogate {place}".rstrip()
    if "truncated" in text:
        return "the line is not complete JSON"
    return f"the line is not valid JSON {place}".rstrip()
