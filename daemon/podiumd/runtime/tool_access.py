"""Access to the tools of a turn from outside of the daemon, by the turn's token.

A token is made for one turn, given to its agent alone, and good while that turn goes on, over a
restart of the daemon too. Nothing but its SHA-256 is kept: in memory, and in the turn's directory
for the daemon that takes the turn up.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import trio

from podiumd.core.prompts.tools import ToolSpec
from podiumd.drivers.base import ToolsServer
from podiumd.formats import mcp
from podiumd.observe.logs import log
from podiumd.runtime.errors import Overloaded, Refused
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.private_file import write_private

TOKEN: Final = "PODIUM_TOOLS_TOKEN"  # noqa: S105 - the name of a variable
SOCKET: Final = "PODIUM_SOCKET"
DIGEST_FILE: Final = "tools.sha256"

REFUSED: Final = (
    "The token opens no tools: it is not one, or the turn that it was made for is over."
)
"""The same for all that is wrong with a token, so that nothing can be learned by trying."""

AT_ONCE: Final = 64
"""Messages of one turn in hand; an agent calls a few tools at a time."""

AGAIN_MS: Final = 200

UseTool = Callable[[str, str, dict[str, Any]], Awaitable[tuple[bool, str]]]
"""Does a call (its id, the tool, the arguments) and says whether it was done, and in words what
came of it. The same id again is the same call again: it is done once."""

Reply = dict[str, Any] | list[dict[str, Any]] | None


class Pace:
    """So many at once, and so many a second in the long run."""

    def __init__(self, burst: int, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._left = float(burst)
        self._at = trio.current_time()

    def take(self, count: int) -> None:
        """Count calls against the pace. Raises ``Overloaded`` where there were too many of late."""
        now = trio.current_time()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < min(count, self._burst):
            missing = min(count, self._burst) - self._left
            wait = max(1, round(1000 * missing / self._per_second))
            raise Overloaded("Too many messages to Podium's tools; try again.", wait)
        self._left -= count


class _OpenTurn:
    """A turn whose tools can be used now."""

    def __init__(self, digest: bytes, served: Sequence[ToolSpec], use: UseTool) -> None:
        self.digest = digest
        self.served = served
        self.use = use
        self.pace = Pace(burst=2 * mcp.BATCH_LIMIT, per_second=20)
        self.in_hand: set[trio.CancelScope] = set()


class ToolAccess:
    """The tools of all turns; one a daemon. ``socket`` is where agents reach it."""

    def __init__(self, socket: Path = Path("podium.sock")) -> None:
        self._socket = socket
        self._turns: list[_OpenTurn] = []
        self._wrong: Pace | None = None

    def issue(self, directory: Path) -> str:
        """Make the token of the turn whose directory this is; an earlier one is good no more.

        Raises ``OSError``.
        """
        token = secrets.token_hex(32)
        new = directory / f"{DIGEST_FILE}.new"
        write_private(new, _digest(token).hex())
        new.replace(directory / DIGEST_FILE)
        failpoint("tools.after-issue")
        return token

    def environment(self, token: str) -> dict[str, str]:
        """Build the environment of the tools' server, ``podium mcp``."""
        return {TOKEN: token, SOCKET: str(self._socket)}

    def server(self, token: str) -> ToolsServer:
        """Build the start of the server of an agent's tools. The token is in no argument."""
        return ToolsServer(command=(*client_command(), "mcp"), environment=self.environment(token))

    @contextmanager
    def open(self, directory: Path, served: Sequence[ToolSpec], use: UseTool) -> Iterator[None]:
        """Serve the holder of the token of the turn in ``directory``; serve none, if none was made.

        A caller that waits for ``use`` at the end gets the answer to try again: the turn may only
        have been let go by a daemon that stops.
        """
        digest = _stored(directory)
        if digest is None:
            yield
            return
        turn = _OpenTurn(digest, served, use)
        self._turns.append(turn)
        try:
            yield
        finally:
            self._turns.remove(turn)
            for scope in turn.in_hand:
                scope.cancel()

    async def message(
        self, token: str, text: str, delivery: str | None, going_on: Iterable[Path]
    ) -> Reply:
        """Answer what an agent's client of the Model Context Protocol says.

        Parameters:
            text: one message, or a batch, as it came over the wire.
            delivery: is the same when the same message is sent again, and no other has it: what
                was done the first time is then answered, not done again.
            going_on: the directories of all turns that are not over.

        Raises:
            Refused: the token is wrong, or its turn is over.
            Overloaded: try again.
        """
        turn = self._turn_of(token, going_on)
        received = mcp.receive_text(text.encode("utf-8", "replace"), turn.served)
        turn.pace.take(max(1, len(received.parts)))  # a notification counts too
        if len(turn.in_hand) >= AT_ONCE:
            raise Overloaded("Too many tools are in use at once; try again.", AGAIN_MS)
        delivery = delivery or secrets.token_hex(16)
        replies = []
        with trio.CancelScope() as scope:
            turn.in_hand.add(scope)
            try:
                for number, part in enumerate(received.parts):
                    replies.append(await _answer(turn, part, f"{delivery} {number}"))
            finally:
                turn.in_hand.discard(scope)
        if scope.cancelled_caught:
            raise Overloaded("The turn is being let go; try again.", AGAIN_MS)
        return received.joined(replies)

    def _turn_of(self, token: str, going_on: Iterable[Path]) -> _OpenTurn:
        digest = _digest(token)
        found = None
        for turn in self._turns:
            if hmac.compare_digest(turn.digest, digest):
                found = turn
        if found is not None:
            return found
        if self._wrong is None:
            self._wrong = Pace(burst=20, per_second=2)
        self._wrong.take(1)
        # It is of a turn that begins, is taken up or comes to its end just now.
        for stored in map(_stored, going_on):
            if stored is not None and hmac.compare_digest(stored, digest):
                raise Overloaded("The turn's tools are not open at this moment.", AGAIN_MS)
        log("Tools refused", "warning", reason="wrong or ended token")
        raise Refused(REFUSED)


async def _answer(turn: _OpenTurn, part: dict[str, Any] | mcp.Call, source: str) -> dict[str, Any]:
    if not isinstance(part, mcp.Call):
        return part
    call_id = f"mcp-{hashlib.sha256(source.encode()).hexdigest()[:32]}"
    success, words = await turn.use(call_id, part.tool, part.args)
    return mcp.result(part, words, success)


def client_command() -> tuple[str, ...]:
    """Return the command of the client that belongs to this daemon, from any directory."""
    script = Path(sys.executable).with_name("podium")
    if script.exists():
        return (str(script),)
    return (sys.executable, "-P", "-m", "podium")  # -P: never what is called so where it starts


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _stored(directory: Path) -> bytes | None:
    try:
        return bytes.fromhex((directory / DIGEST_FILE).read_text("ascii"))
    except (OSError, ValueError):
        return None
