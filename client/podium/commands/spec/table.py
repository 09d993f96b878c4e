"""Parts of the table of commands: commands, their arguments, those that many share."""

from __future__ import annotations

from typing import Any, NamedTuple


class Argument(NamedTuple):
    """Argument of a command. ``names`` are option strings; one without dashes is a positional.

    ``handler`` parameter is ``dest``; ``values`` names the source of completions: ``runs``,
    ``sessions``, ``gone`` (sessions), ``questions``, ``answers``, ``recipes``, ``steps``,
    ``agents``, ``params``, ``commands``, ``devices``, ``directories`` or ``files``. ``otherwise``
    states what to do where the value given is none of the ``choices``, or empty. ``means`` is the
    daemon's name for it, where that is not ``dest``.
    """

    names: tuple[str, ...]
    help: str
    dest: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    flag: bool = False
    repeat: bool = False
    optional: bool = False
    default: Any = None
    values: str = ""
    otherwise: str = ""
    may_be_empty: bool = False
    means: str = ""

    @property
    def is_option(self) -> bool:
        """Return whether it is given by name."""
        return self.names[0].startswith("-")


class Command(NamedTuple):
    """Command of ``podium``; ``handler`` is ``module:function``, imported when it runs."""

    path: tuple[str, ...]
    summary: str
    description: str
    example: str
    handler: str = ""
    arguments: tuple[Argument, ...] = ()


def option(name: str, help: str, metavar: str = "", **more: Any) -> Argument:
    """Make an argument given by name; without ``metavar`` and ``choices`` it is a flag."""
    names = (f"-{name[2]}", name) if name == "--param" else (name,)
    dest = more.pop("dest", name.lstrip("-").replace("-", "_"))
    return Argument(names, help, dest, metavar, flag=not metavar and "choices" not in more, **more)


def positional(metavar: str, dest: str, help: str, **more: Any) -> Argument:
    """Make an argument given by its place."""
    return Argument((dest,), help, dest, metavar, **more)


JSON = option("--json", "print JSON for programs")
CONFIG = option("--config", "the configuration file to use", "FILE", values="files")
CWD = option(
    "--cwd",
    "the working directory (default: this one)",
    "DIR",
    values="directories",
    means="working_directory",
)
RECIPE_CWD = option(
    "--cwd",
    "the project (default: this directory)",
    "DIR",
    values="directories",
    means="working_directory",
)
SESSION = option(
    "--session",
    "go on in this session: its id, or its beginning (default: a new one)",
    "ID",
    values="sessions",
    means="session_id",
)
AGENT = option(
    "--agent", "the agent that does the work; 'podium agents' lists them", "AGENT", values="agents"
)
MODEL = option("--model", "the agent's own word for a model (default: as configured)", "MODEL")
SCRIPT = option(
    "--script", "the file of turns that '--agent scripted' plays", "FILE", values="files"
)
FILES = Argument(
    ("--file",),
    "an image that goes with the text; may be repeated",
    "files",
    "PATH",
    repeat=True,
    values="files",
)
PARAMS = Argument(
    ("-p", "--param"),
    "a parameter of the recipe; may be repeated",
    "params",
    "NAME=VALUE",
    values="params",
    repeat=True,
)
DETACH = option("--detach", "start it, print the run's id and do not follow")
RUN = positional("RUN", "run_id", "a run's id, or its beginning", values="runs")
RUN_OR_LATEST = positional(
    "RUN",
    "run_id",
    "a run's id, or its beginning (default: the active run, else the latest)",
    values="runs",
    optional=True,
)
TEXT = positional(
    "TEXT", "words", "the message; '-' reads standard input", may_be_empty=True, means="text"
)
