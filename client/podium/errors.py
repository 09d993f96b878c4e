"""Why a command could not be done: one sentence for the person, one exit code for scripts.

The exit codes are the ones that ``podium --help`` documents.
"""

from __future__ import annotations

TYPE_CHECKING = False  # ``typing`` costs milliseconds at start-up; checkers know this name
if TYPE_CHECKING:
    from typing import Any

OK = 0
ERROR = 1
USAGE = 2
GUARDRAIL = 3
NEEDS_PERSON = 4
BUSY_START = 5
NOT_RUNNING = 6
INTERRUPTED = 130

BUSY = -32001
INVALID_PARAMETER = -32602
ALREADY_ENDED = -32004


class Failure(Exception):
    """The command failed; ``message`` says what is wrong and what to do."""

    def __init__(self, message: str, exit_code: int = ERROR) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class DaemonDown(Failure):
    """Nothing listens on the socket."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The daemon is not running (nothing answers at {path}): start it with 'podium up'.",
            NOT_RUNNING,
        )


class ConnectionLost(Failure):
    """The daemon went away in the middle of a conversation."""


class Refusal(Failure):
    """The daemon answered with a JSON-RPC error. ``data`` is the error's own."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message, BUSY_START if code == BUSY else ERROR)
        self.code = code
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
