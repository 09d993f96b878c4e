"""Refusals of Claude Code's provider, in words that say what to do.

The CLI's own words are for a person who sits in front of it ("Please run /login"); ours are read at
another terminal, or on a phone. Measured with ``claude`` 2.1.328: each kind against a server that
refuses so.
"""

from __future__ import annotations

from typing import Final

ANEW: Final = (
    "export it and start the daemon anew ('podium down && podium up', as a service 'podium service "
    "install')"
)
KEY_OF_THE_DAEMON: Final = (
    "a key (ANTHROPIC_API_KEY) counts only in the environment that the daemon was started in: "
    f"{ANEW}"
)
LOG_IN: Final = "run 'claude' in a terminal of the daemon's machine and log in"
NOT_LOGGED_IN: Final = f"claude is not logged in: {LOG_IN}; {KEY_OF_THE_DAEMON}"

_OWN_PREFIXES: Final = ("API Error: ", "Failed to authenticate. API Error: ")


def trying_again(status: int | None, error: str, seconds: float, attempt: int, most: int) -> str:
    """Describe in a line a request that failed and is made again."""
    when = f"in {seconds:.0f} s" if seconds >= 1 else "at once"
    return f"{_what(status, error)}; it tries again {when} (try {attempt} of {most})"


def refusal(status: int | None, error: str, cause: str, said: str) -> str:
    """Return why a turn ended without an answer, and what to do.

    ``error`` is the CLI's name for it, ``cause`` its ``api_error``, ``said`` its own words.
    """
    words = f": {_plain(said)}" if said else ""
    if error == "authentication_failed" and status is None:
        return NOT_LOGGED_IN
    if status == 401:
        return (
            f"claude's provider does not accept its key or login (401){words}; {LOG_IN} anew; "
            f"{KEY_OF_THE_DAEMON}"
        )
    if status == 403:
        return f"claude's provider does not let this account in (403){words}; {LOG_IN} to another"
    if error == "model_not_found":
        return (
            f"claude's provider has no such model, or not for this account ({status}){words}; name "
            "another one for the step or the agent, or with --model"
        )
    if error == "billing_error":
        return f"claude's account has no credit left ({status}){words}"
    if cause == "connection_failed":
        return (
            f"claude cannot reach its provider{words}; check the network, and ANTHROPIC_BASE_URL "
            "and the proxy in the daemon's environment"
        )
    if status in _PASSING:
        return f"{_what(status, error)}{words}; try again in some minutes"
    return said


_PASSING: Final = {
    429: "claude's provider limits how much may be asked (429)",
    500: "claude's provider failed (500)",
    502: "claude's provider failed (502)",
    503: "claude's provider failed (503)",
    504: "claude's provider failed (504)",
    529: "claude's provider is overloaded (529)",
}


def _what(status: int | None, error: str) -> str:
    if status is None:
        return "claude cannot reach its provider"
    if status == 401:
        return "claude's provider does not accept its key or login (401)"
    return _PASSING.get(status, f"claude's provider answered {status} {error}".rstrip())


def _plain(said: str) -> str:
    for prefix in _OWN_PREFIXES:
        said = said.removeprefix(prefix)
    return said.rstrip(".")
