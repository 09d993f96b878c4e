"""Refusals: each is a sentence for a person; its type says which kind, for a program."""

from __future__ import annotations


class ProjectError(Exception):
    """Signal that a request is refused. The text gives what, why, and what to do."""


class BadPlace(ProjectError):
    """A directory that is not there, is none, or may not be used."""


class BadName(ProjectError):
    """A file's name that is not taken."""


class BadContent(ProjectError):
    """A file's content that is no base64."""


class TooLarge(ProjectError):
    """A file beyond the limit."""


class NoSuchFile(ProjectError):
    """A file that is not there."""


class UnknownCommand(ProjectError):
    """A command's id that the directory does not offer."""


class UnknownRun(ProjectError):
    """A command's run that is not there, or not any more."""


class TooManyCommands(ProjectError):
    """As many commands run as may."""


class StorageFailed(ProjectError):
    """The disk did not take it."""


class WorktreeRefused(ProjectError):
    """A worktree that is not made; ``error_type`` is the reason for programs."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type
