"""The profile of macOS's sandbox-exec for a plan of places. Pure.

Of several rules that match, the last one holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from podiumd.tools.confine.places import Places

# Programs that these start for the asker run outside of the sandbox.
_LAUNCHERS = (
    "com.apple.coreservices.launchservicesd",
    "com.apple.lsd.mapdb",
    "com.apple.lsd.open",
    "com.apple.lsd.xpc",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/dtracehelper")


def profile(places: Places, scratch: str) -> str:
    """Build the profile for ``sandbox-exec -p``.

    ``scratch`` is the one directory beside the tree that may be written.
    """
    writable = (*places.writable, scratch)
    seen = (*places.shown, *writable)
    # To get to what is shown, the names above it must be looked up, not listed.
    above = {f"{one}" for path in seen for one in PurePosixPath(path).parents}
    # A new repository is looked at when it is there.
    unwanted = [path for path in places.unwanted if not path.endswith("/.git")]
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny network*)",
        "(deny appleevent-send)",
        _rule("deny mach-lookup", "global-name", _LAUNCHERS),
        "(deny file-write*)",
        _rule("deny file-read*", "subpath", places.hidden),
        _rule("allow file-read-metadata", "literal", sorted(above)),
        _rule("allow file-read*", "subpath", seen),
        _rule("allow file-write*", "subpath", writable),
        _rule("allow file-write*", "literal", _DEVICES),
        _rule("deny file-read* file-write*", "subpath", places.emptied),
        _rule("deny file-read* file-write*", "literal", places.masked),
        _rule("deny file-write*", "subpath", (*places.protected, *places.placed, *unwanted)),
        # A directory that is moved away takes its rules with it.
        _rule("deny file-write-unlink", "literal", places.writable),
    ]
    return "\n".join(line for line in lines if line) + "\n"


def writing_profile(writable: Iterable[str], kept: Iterable[str]) -> str:
    """Build the profile of a git that writes only in ``writable``, except what is ``kept``."""
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        _rule("allow file-write*", "subpath", writable),
        _rule("allow file-write*", "literal", _DEVICES),
        _rule("deny file-write*", "subpath", kept),
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _rule(verdict: str, kind: str, values: Iterable[str]) -> str:
    filters = [f"({kind} {_quoted(value)})" for value in values]
    return f"({verdict} {' '.join(filters)})" if filters else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
