"""Notice about a daemon of another version than this client, with the command that mends it."""

from __future__ import annotations

from podium import __version__, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from podium import protocol


def tell(status: protocol.DaemonStatus) -> None:
    """Say it on standard error, if the daemon with this ``daemon.status`` is of another version."""
    version = status.get("version")
    if version == __version__:
        return
    mended = (
        "'podium service restart' restarts it with this version, and turns go on"
        if status.get("service")
        else "'podium down && podium up' restarts the daemon with this version"
    )
    text.tell(f"This client is {__version__}, the daemon {text.fold(version)}: {mended}.")
