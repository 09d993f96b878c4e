"""Deletes a directory with all that is in it, in steps that can be ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR


def delete_tree(directory: str, go_on: Callable[[], None]) -> None:
    """Delete a directory, whatever the modes in it; one that is not there is deleted already.

    ``go_on`` is called before every step and ends it by what it raises; begun again it goes on.
    Links are deleted and not followed. Blocks. Raises ``OSError``.
    """
    top = Path(directory)
    if top.is_symlink() or not top.is_dir():
        top.unlink(missing_ok=True)
        return
    top.chmod(0o700)
    for _, below, names, place in os.fwalk(directory):
        for name in (*below, *names):
            go_on()
            if S_ISDIR(os.lstat(name, dir_fd=place).st_mode):
                os.chmod(name, 0o700, dir_fd=place)
            else:
                os.unlink(name, dir_fd=place)
    for _, below, _, place in os.fwalk(directory, topdown=False):
        for name in below:
            go_on()
            os.rmdir(name, dir_fd=place)
    with suppress(FileNotFoundError):
        top.rmdir()
