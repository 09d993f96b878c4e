"""Connection to the daemon: JSON-RPC 2.0 by lines over its Unix socket.

``_socket`` is the C half of ``socket``: the other half brings ``selectors``, ``enum`` and ``re``,
none of which a client needs.
"""

from __future__ import annotations

import _socket
import errno
import time

from podium import paths, wire
from podium.errors import ConnectionLost, DaemonDown, Failure, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from podium import protocol

ANSWER_SECONDS = 60.0
"""How long a call waits: ending an agent in order takes the daemon up to some ten seconds."""

MAX_LINE = 64 * 1024 * 1024

MAX_REQUEST = 16 * 1024 * 1024
"""The longest line that the daemon takes, in bytes."""


class Connection:
    """A connected client.

    Raises:
        DaemonDown: nothing listens there.
        Failure: the socket cannot be used; the message says why.
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = path or paths.socket_path()
        self._socket = _connect(self.path)
        self._buffer = bytearray()
        self._scanned = 0
        self._number = 0
        self._notifications: list[dict[str, Any]] = []

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    def close(self) -> None:
        """End the conversation."""
        self._socket.close()

    def ask(
        self,
        method: str,
        params: Mapping[str, object] | None = None,
        seconds: float | None = ANSWER_SECONDS,
        meanwhile: Callable[[dict[str, Any]], object] | None = None,
    ) -> Any:
        """Ask and wait for the answer; notifications that come in between are kept, or handed to
        ``meanwhile``.

        Raises:
            Refusal: the daemon answered with an error.
            ConnectionLost: it went away, or sent what is no answer.
            Failure: the request is too long, or there was no answer within ``seconds``
                (``None``: wait without end).
        """
        self._number += 1
        number = self._number
        self._send(wire.request(number, method, params))
        deadline = None if seconds is None else time.monotonic() + seconds
        heed = self._notifications.append if meanwhile is None else meanwhile
        while True:
            message = self._message(deadline)
            if message is None:
                raise Failure(
                    f"The daemon did not answer {method} within {seconds:g} s; "
                    f"see its log {paths.log_file()}."
                )
            if "method" in message:
                heed(message)
            elif message.get("id") == number or message.get("id") is None:
                return _result(message)

    if TYPE_CHECKING:
        call: protocol.Call  # ``ask``, with each method's parameters and result
    else:
        call = ask

    @property
    def unread(self) -> bool:
        """Return whether something has arrived that was not taken yet.

        The socket itself may never become readable for it.
        """
        return bool(self._notifications) or self._buffer.find(b"\n", self._scanned) >= 0

    def notifications(self) -> list[dict[str, Any]]:
        """Return what has arrived, without waiting; an empty list if nothing is complete yet.

        Raises:
            ConnectionLost: the daemon closed the connection and all it sent has been taken.
        """
        taken, self._notifications = self._notifications, []
        try:
            while message := self._message(deadline=0.0):
                if "method" in message:
                    taken.append(message)
        except ConnectionLost:
            if not taken:
                raise
        return taken

    def post(self, method: str, params: Mapping[str, object] | None = None) -> int:
        """Ask without waiting; returns the number that the answer has as its id among ``arrived``.

        Raises:
            Failure: the request is too long, or the daemon takes no input.
        """
        self._number += 1
        self._send(wire.request(self._number, method, params))
        return self._number

    def arrived(self) -> list[dict[str, Any]]:
        """Return every message that has arrived, answers too, without waiting.

        Raises:
            ConnectionLost: the daemon closed the connection and all it sent has been taken.
        """
        taken: list[dict[str, Any]] = []
        try:
            while message := self._message(deadline=0.0):
                taken.append(message)
        except ConnectionLost:
            if not taken:
                raise
        return taken

    def _send(self, data: bytes) -> None:
        if len(data) > MAX_REQUEST:
            raise Failure(
                f"The request has {len(data) / 2**20:.1f} MiB, and the daemon takes "
                f"{MAX_REQUEST // 2**20} at most: save long texts as files and name the files."
            )
        self._socket.settimeout(ANSWER_SECONDS)
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise Failure(f"The daemon takes no input; see its log {paths.log_file()}.") from error
        except OSError:
            pass  # closed at the other end: its last words (a refusal, say) can still be read

    def _message(self, deadline: float | None) -> dict[str, Any] | None:
        """Return the next message; ``None`` when it is not there by ``deadline`` (monotonic)."""
        while (end := self._buffer.find(b"\n", self._scanned)) < 0:
            self._scanned = len(self._buffer)
            if self._scanned > MAX_LINE:
                raise ConnectionLost("The daemon sent a line over 64 MiB, which is no answer.")
            if not self._receive(deadline):
                return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        try:
            message = wire.decode(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise ConnectionLost(
                f"What answers at {self.path} does not speak Podium's protocol: "
                "check PODIUM_SOCKET, or restart the daemon with 'podium down && podium up'."
            )
        return message

    def _receive(self, deadline: float | None) -> bool:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(262144)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError as error:
            raise _lost() from error
        if not data:
            raise _lost()
        self._buffer += data
        return True


def ask(
    method: str,
    params: Mapping[str, object] | None = None,
    seconds: float | None = ANSWER_SECONDS,
    meanwhile: Callable[[dict[str, Any]], object] | None = None,
) -> Any:
    """Make one call on its own connection; raise what ``Connection`` and its ``ask`` raise."""
    with Connection() as connection:
        return connection.ask(method, params, seconds, meanwhile)


if TYPE_CHECKING:
    call: protocol.Call
else:
    call = ask


def _connect(path: str) -> _socket.socket:
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.connect(path)
    except OSError as error:
        sock.close()
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR):
            raise DaemonDown(path) from error
        if error.errno is None or error.errno == errno.ENAMETOOLONG:
            raise Failure(
                f"The socket's path is too long for this platform ({len(path)} characters): "
                f"{path}: set PODIUM_SOCKET or PODIUM_HOME to a shorter one."
            ) from error
        raise Failure(f"Cannot reach the daemon at {path}: {error.strerror}.") from error
    return sock


def _lost() -> ConnectionLost:
    return ConnectionLost(
        "The daemon closed the connection before it answered: see its log "
        f"{paths.log_file()}, or start it with 'podium up'."
    )


def _result(message: dict[str, Any]) -> Any:
    error = message.get("error")
    if error is None:
        return message.get("result")
    if not isinstance(error, dict):
        error = {}
    code, text = error.get("code"), error.get("message")
    raise Refusal(
        code if isinstance(code, int) else 0,
        text if isinstance(text, str) and text else "The daemon refused without a reason.",
        error.get("data"),
    )
