"""The ``podium`` command: the shortest way to the commonest requests, the whole parser for the
rest.

A request made all day (``podium status``) must not wait for imports it has no use for: a command
line of the plainest form goes straight to its view. Everything else goes through
``podium.cli.dispatch``.
"""

from __future__ import annotations

import os
import sys

from podium import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

HOT = {
    "status": {"--storage": "storage", "--json": "json"},
    "sessions": {"--json": "json"},
    "runs": {"--json": "json", "--all": "ended_too"},
    "questions": {"--json": "json"},
    "locks": {"--json": "json"},
}
"""Commands that need no parser as long as only these flags follow, and what the flags set."""


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit code; never raises, never shows a traceback."""
    arguments = sys.argv[1:] if argv is None else argv
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A locale that lacks a character must cost that character, not the command.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except errors.Failure as failure:
        _complain(failure.sentence, failure.details)
        return failure.exit_code
    except KeyboardInterrupt:
        return errors.INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted (``podium runs | head``). Nothing may be written at exit.
        _let_go_of_output()
        return errors.OK
    except OSError as error:
        _let_go_of_output()  # it may be what failed: a full disk
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}.")
        return errors.ERROR
    except Exception as error:
        if os.environ.get("PODIUM_DEBUG"):
            raise
        older = "a daemon of another release may send less, 'podium status' tells; "
        _complain(
            f"This is a fault of the client ({type(error).__name__}: {error}); "
            f"{older if isinstance(error, KeyError) else ''}"
            "the same command with PODIUM_DEBUG=1 shows where, which helps a report."
        )
        return errors.ERROR


def _dispatch(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from podium import __version__

        sys.stdout.write(f"podium {__version__}\n")
        return errors.OK
    flags = HOT.get(arguments[0]) if arguments else None
    if flags is not None and flags.keys() >= set(arguments[1:]):
        from podium.commands import status as views

        given = {name: flag in arguments for flag, name in flags.items()}
        return views.HOT[arguments[0]](**given)
    if arguments == ["mcp"]:  # an agent waits for it at the start of each turn
        from podium import mcp

        return mcp.serve()
    from podium.cli import dispatch

    return dispatch.run(arguments)


def _complain(sentence: str, details: Iterable[str] = ()) -> None:
    from podium import text

    text.tell(f"podium: {text.fold(sentence)}")
    for line in details:
        text.tell(f"  {text.fold(line)}")


def _open_closed_streams() -> None:
    """Point each standard stream that the caller closed (``>&-``) at /dev/null.

    Its number must be taken, or the next file or socket gets it, and with it the output meant for
    people.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115


def _let_go_of_output() -> None:
    from podium import text

    text.let_go(1)


if __name__ == "__main__":
    sys.exit(main())
