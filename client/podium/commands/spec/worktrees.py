"""The commands about the worktrees of runs."""

from __future__ import annotations

from podium.commands.spec.table import JSON, RUN, Command, option

WORKTREES = (
    Command(
        ("worktree",),
        "the worktrees that runs worked in",
        "A run that was started with '--worktree' has a checkout and a branch of its own, which "
        "stay until you merge and remove them.",
        "podium worktree list",
    ),
    Command(
        ("worktree", "list"),
        "list them: branch, size, age, what is not committed or merged",
        "Every worktree of a run, with what is in it.",
        "podium worktree list",
        "commands.worktree:listing",
        (JSON,),
    ),
    Command(
        ("worktree", "merge"),
        "merge the branch of one into the branch checked out where it came from",
        "It is refused where that checkout has uncommitted changes, or a run holds it. A conflict "
        "is taken back and its files are named. No hook runs, and nothing is signed. The worktree "
        "stays.",
        "podium worktree merge 1a2b3c4d",
        "commands.worktree:merge",
        (RUN, JSON),
    ),
    Command(
        ("worktree", "remove"),
        "remove one and its branch",
        "It is refused where work would be lost by it: files that are not committed (ignored ones "
        "do not count), commits that no other branch has. What would be is named.",
        "podium worktree remove 1a2b3c4d",
        "commands.worktree:remove",
        (RUN, option("--force", "throw away what would be lost"), JSON),
    ),
)
