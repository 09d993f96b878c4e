"""Files and directories whose content is believed: no other user may have written there.

A configuration names programs, and a recipe states what an agent may do. So a user who can write
one can have it run as its owner.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat


def fault_of(found: os.stat_result, uid: int) -> str | None:
    """Say why what is there is not to be believed by user ``uid``, and what to do; ``None``: it is.

    It must belong to the user or to root. Others must not be able to write to it; a group may if
    it is the user's own (a umask of 002 with a group for each user is usual).
    """
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISCHR(found.st_mode):
        return None  # /dev/null, which every user may write to and none can change
    if found.st_uid not in (uid, 0):
        return f"it belongs to user {found.st_uid}, who could change it: make it your own"
    sticky_directory = stat.S_ISDIR(found.st_mode) and mode & stat.S_ISVTX
    if mode & stat.S_IWOTH and not sticky_directory:
        return f"everybody can write to it (mode {mode:o}): look at it, then 'chmod go-w' it"
    if mode & stat.S_IWGRP and not sticky_directory and not _is_own(found.st_gid, uid):
        return (
            f"its group {_group_name(found.st_gid)} can write to it (mode {mode:o}): look at it,"
            " then 'chmod g-w' it"
        )
    return None


def _is_own(gid: int, uid: int) -> bool:
    """Return whether a group is that user's alone: named like the user, with no other member."""
    try:
        name, group = pwd.getpwuid(uid).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
