"""SIGHUP: read the configuration anew; or, where our terminal has gone, stop."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from typing import Final, Literal

from podiumd.config.load import ConfigError
from podiumd.config.paths import PlaceError
from podiumd.config.reload import Settings
from podiumd.observe.logs import log
from podiumd.store.errors import StoreError

_STANDARD_ERROR: Final = 2


async def reload_on_signal(
    signals: AsyncIterator[int],
    settings: Settings,
    stop: Callable[[Literal["leave"], str], None],
) -> None:
    """Take every SIGHUP until cancelled. A daemon in a terminal's foreground gets one when the
    terminal is closed: it stops then, as any program of that terminal, and leaves its turns."""
    in_terminal = has_terminal()
    async for _ in signals:
        if in_terminal and not has_terminal():
            stop("leave", "SIGHUP: its terminal was closed")
            continue
        log("Signal received", signal="SIGHUP")
        try:
            await settings.reload()
        except (ConfigError, PlaceError):
            continue  # in the log already, with what stays
        except StoreError as error:
            log("Configuration not wholly in force", "error", reason=str(error))


def has_terminal(descriptor: int = _STANDARD_ERROR) -> bool:
    """Return whether a terminal is there that we belong to."""
    try:
        os.tcgetpgrp(descriptor)
    except OSError:
        return False
    return True
