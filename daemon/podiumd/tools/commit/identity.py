"""Under whose name a commit is made: as git itself finds it, the environment first.

The daemon's git has nothing else of the caller's ``GIT_*``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError, top_level

NOBODY: Final = (
    "git does not know who you are; tell it by: git config --global user.name "
    "'Your Name' and git config --global user.email you@example.org"
)

IDENTITIES: Final = ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT")
"""Identities that ``git var`` must know, for a commit to be made."""

_NAMES: Final = (
    *(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")),
    "EMAIL",
)
_OF_A_HOOK: Final = ("GIT_DIR", "GIT_INDEX_FILE")
"""Variables that git sets for its hooks; the author of their commit need not be the author of
ours."""


def identity_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Select the variables of an environment that name the committer."""
    if any(name in environ for name in _OF_A_HOOK):
        return {}
    return {name: environ[name] for name in _NAMES if name in environ}


async def unknown_committer(root: str) -> str:
    """Return the warning before work in ``root`` that is to be committed; empty where there is
    none."""
    try:
        if await is_somebody(GitCall(root, identity_variables(os.environ))):
            return ""
        return NOBODY if await top_level(root) is not None else ""
    except GitError:  # that is reported where it matters, at the commit
        return ""


async def is_somebody(git: GitCall) -> bool:
    """Return whether git knows the committer. Raises ``GitError`` where there is no git."""
    for name in IDENTITIES:
        if (await git.run("var", name)).returncode != 0:
            return False
    return True
