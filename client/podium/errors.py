"""Failures of a command: one sentence for the person, one exit code for scripts.

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
NOT_FOUND = -32002
UNKNOWN_METHOD = -32601
INVALID_PARAMETER = -32602
ALREADY_ENDED = -32004
AGENT_UNAVAILABLE = -32005

LISTED_BY = {
    "run": "podium runs --all",
    "question": "podium questions",
    "recipe": "podium recipe list",
    "session": "podium sessions",
    "device": "podium devices",
}
"""The commands that list what was not found."""

NAMED_BY = {"run_id": "run", "session_id": "session", "question_id": "question"}
"""Thing that each parameter with an id names."""

KIND_OF = {
    "runs": "run",
    "questions": "question",
    "recipes": "recipe",
    "sessions": "session",
    "gone": "session",
    "devices": "device",
}
"""Thing that an argument names, by the source of its completions."""

PROTOCOL_PREFIXES = ("Invalid params: ", "Invalid request: ", "Parse error: ")
"""Beginnings of the daemon's messages that are for programs; people can do without."""


class Failure(Exception):
    """The command failed; ``message`` says what is wrong and what to do."""

    def __init__(self, message: str, exit_code: int = ERROR) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code

    @property
    def sentence(self) -> str:
        """Return the whole sentence for a person, ended by a full stop."""
        return stopped(self.message)

    @property
    def details(self) -> list[str]:
        """Return the lines that follow the sentence."""
        return []


class DaemonDown(Failure):
    """No daemon listens on the socket."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The daemon is not running (nothing answers at {path}): start it with 'podium up'.",
            NOT_RUNNING,
        )
        self._path = path

    @property
    def sentence(self) -> str:
        """Return the sentence for a person; it names the process of a daemon that lives all the
        same."""
        from podium.orphan_daemon import daemon_pid

        pid = daemon_pid()
        if pid is None:
            return super().sentence
        return (
            f"The daemon (pid {pid}) runs, but nothing answers at {self._path}: it is starting or "
            "stopping just now, or its socket was removed. 'podium down' ends it."
        )


class ConnectionLost(Failure):
    """The daemon went away in the middle of a conversation."""


class Refusal(Failure):
    """JSON-RPC error with which the daemon answered.

    ``data`` is the error's own: ``fix`` and ``findings`` are shown too. ``queue``: the option by
    which the same command waits until its session is free; empty where it has none.
    """

    queue = ""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.code = code
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        super().__init__(message, self._exit_code())

    def _exit_code(self) -> int:
        if self.code == BUSY:
            return BUSY_START
        if self.code == AGENT_UNAVAILABLE and self.data.get("known"):
            return USAGE  # there is no agent of this name
        # Only a recipe's own parameters (-p) are named so: the others the client puts right.
        wrong = self.code == INVALID_PARAMETER and self.data.get("parameter") == "params"
        return USAGE if wrong else ERROR

    @property
    def sentence(self) -> str:
        """Return the daemon's words without those meant for programs, and what to do."""
        if said := self._held() or self._misnamed():
            return said
        said = self.message.strip()
        for prefix in PROTOCOL_PREFIXES:
            said = said.removeprefix(prefix)
        findings = self._findings()
        if findings and said.endswith(findings[0]):
            said = said.removesuffix(findings[0]).rstrip(": ")  # it comes again, with its place
        first = said.partition(" ")[0].rstrip(",:;")
        if first.isalpha():  # an id, a setting or a path is written as it is
            said = said[:1].upper() + said[1:]
        said = stopped(said)
        fix = str(self.data.get("fix") or self._where_to_look()).strip()
        return said if not fix or fix.rstrip(".") in said else f"{said} {stopped(fix)}"

    @property
    def details(self) -> list[str]:
        """List a line for every fault of a recipe: file, line, code, what is wrong."""
        return [
            f"{finding.get('file')}:{finding.get('line') or 1}: "
            f"{'warning: ' if finding.get('level') == 'warning' else ''}"
            f"{finding.get('code')}: {stopped(str(finding.get('message')))}"
            for finding in self.data.get("findings") or []
        ]

    def _held(self) -> str:
        """Name the holder of the session or the working tree, and what to do.

        It is empty where the daemon's own words are as good.
        """
        holder, session = self.data.get("holder"), str(self.data.get("session_id") or "")[:8]
        tree = str(self.data.get("working_directory") or "")
        if self.code != BUSY or not (session or tree) or not isinstance(holder, dict):
            return ""
        name = str(holder.get("id") or "")[:8]
        by, follow = {
            "prompt": (f"prompt {name}", f"podium show {session} --follow"),
            "run": (f"run {name}", f"podium attach {name}"),
        }.get(str(holder.get("kind")), ("", ""))
        if not (by and name):
            return ""
        held = f"Session {session}" if session else f"The working tree {tree}"
        else_where = "" if session else ", or '--worktree' for a checkout of the run's own"
        if session and self.queue:
            else_where = f", or '{self.queue}' to send it then"
        return f"{held} is held by {by}: try again when it is done, or '{follow}'{else_where}."

    def _misnamed(self) -> str:
        """Explain a value given in place of an id; empty where none was."""
        kind = NAMED_BY.get(str(self.data.get("parameter")), "")
        given = self.message.rpartition(", got ")[2].rstrip(".")
        if self.code != INVALID_PARAMETER or not kind or given == self.message.rstrip("."):
            return ""
        return (
            f"{given} names no {kind}: its id or the beginning of it does, which is letters, "
            f"digits, '-' and '_'. {_lists(kind)}"
        )

    def _where_to_look(self) -> str:
        return _lists(str(self.data.get("kind"))) if self.code == NOT_FOUND else ""

    def _findings(self) -> list[str]:
        return [str(finding.get("message")) for finding in self.data.get("findings") or []]


def _lists(kind: str) -> str:
    said = listing_of(kind)
    return f"{said}." if said else ""


def listing_of(kind: str) -> str:
    """Name the command that lists what there is of a kind; empty where none does."""
    command = LISTED_BY.get(kind)
    return f"'{command}' lists what there is" if command else ""


def stopped(words: str) -> str:
    """End a sentence with a full stop, unless it has an end."""
    words = words.rstrip()
    return words if words.endswith((".", "!", "?")) else f"{words}."
