"""Leave for what a turn does, by what people have said: Codex's own sandbox, and our answers. Pure.

Codex asks before a command or a change of files under ``untrusted``. A turn whose recipe lets it do
both unasked runs under ``on-request``: within the sandbox nothing is asked then, and what is asked
wants out of it. A turn that may only read has a sandbox in which nothing can be written, and what
wants out of that is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from podiumd.core.decide import policy
from podiumd.core.decide.command_rules import only_reads
from podiumd.core.decide.policy import ESCALATE
from podiumd.formats.codex.wire import FileUpdateChange, ThreadItem

READ_ONLY: Final = "read-only"
"""The tools of a step that may change nothing."""

COMMAND, CHANGE, CREATE = "Bash", "Edit", "Write"
"""The tools that questions name, as recipes do."""

Verdict = Literal["allow", "ask", "deny"]

_OURS: Final = {COMMAND: "run_command", CHANGE: "patch", CREATE: "write_file"}
_KEPT: Final = frozenset({".git", ".codex", ".agents"})
"""Directories in which a file may make programs run, which Codex's sandbox keeps read-only."""

_SHELLS: Final = frozenset({"bash", "sh", "zsh"})
_SCRIPT: Final = "-lc"


def sandbox(tools: str, roots: Sequence[str]) -> dict[str, Any]:
    """Build the sandbox of a turn; ``roots`` may be written beside its working directory.

    ``/tmp`` may not: it is everyone's, and Codex puts an empty ``.git``, ``.codex`` and ``.agents``
    into each directory that may be written and has none. The turn's own ``TMPDIR`` may.
    """
    if tools == "read-only":
        return {"type": "readOnly"}
    return {"type": "workspaceWrite", "writableRoots": [*roots], "excludeSlashTmp": True}


def covers_all(allow: Sequence[str]) -> bool:
    """Return whether commands and changes of files are all allowed unasked."""
    return _allowed(COMMAND, allow, "any") and _allowed(CHANGE, allow)


def approval_policy(tools: str, allow: Sequence[str]) -> str:
    """Choose when Codex is to ask."""
    return "on-request" if tools == "read-only" or covers_all(allow) else "untrusted"


def script_of(command: str | None) -> str:
    """Return the line that a shell is given, without the shell around it."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        return command or ""
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] == _SCRIPT:
        return words[2]
    return command or ""


def on_command(script: str, tools: str, allow: Sequence[str], *, escalated: bool | None) -> Verdict:
    """Judge a command line. ``escalated``: whether it wants out of the sandbox, ``None``: unknown.

    Codex's own list of what a command does is not trusted: ``awk`` and ``xargs`` read, by that.
    """
    if tools == "read-only":
        return "deny"
    if ESCALATE in allow and _allowed(COMMAND, allow, script):
        return "allow"
    if covers_all(allow) or escalated is not False:
        return "ask"
    return "allow" if only_reads(script) or _allowed(COMMAND, allow, script) else "ask"


def on_change(
    item: ThreadItem, grant_root: str | None, tools: str, allow: Sequence[str], *, inside: bool
) -> Verdict:
    """Judge a change of files. ``inside``: each of them is one that may be changed (``is_inside``).

    Codex makes a change that it has leave for outside its sandbox, wherever that is.
    """
    if tools == "read-only":
        return "deny"
    if grant_root is not None or (inside and covers_all(allow)):
        return "ask"
    if not inside and ESCALATE not in allow:
        return "ask"
    allowed = _allowed(CHANGE, allow) or (change_tool(item) == CREATE and _allowed(CREATE, allow))
    return "allow" if allowed else "ask"


def paths_of(item: ThreadItem) -> list[str]:
    """List the files that a change names, those that it moves others to among them."""
    return [path for one in item.changes for path in (one.path, moved_to(one)) if path is not None]


def moved_to(change: FileUpdateChange) -> str | None:
    """Return where a change moves its file to, ``None`` where it stays."""
    path = change.kind.get("move_path") if isinstance(change.kind, dict) else None
    return path if isinstance(path, str) else None


def is_inside(path: str, directory: str) -> bool:
    """Return whether a path lies below a directory and may be changed; both without symlinks."""
    if not PurePosixPath(path).is_relative_to(directory):
        return False
    parts = PurePosixPath(path).relative_to(directory).parts
    return bool(parts) and not _KEPT & {part.casefold() for part in parts}


def change_tool(item: ThreadItem) -> str:
    """Name the tool for a change: ``Write`` where it only makes files that were not there."""
    kinds = [one.kind.get("type") if isinstance(one.kind, dict) else None for one in item.changes]
    return CREATE if kinds and all(kind == "add" for kind in kinds) else CHANGE


def _allowed(tool: str, allow: Sequence[str], command: str | None = None) -> bool:
    risk: policy.Risk = "exec" if tool == COMMAND else "write"
    verdict = policy.judge(_OURS[tool], risk, mode="confirm", allow=tuple(allow), command=command)
    return isinstance(verdict, policy.Allow)
