"""The one table of commands: the parser, the help and the completions are made from it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Argument(NamedTuple):
    """One argument. ``names`` are option strings; one without dashes is a positional.

    ``handler`` parameter is ``dest``; ``values`` says where completions come from: ``runs``,
    ``questions``, ``answers``, ``recipes``, ``steps``, ``commands``, ``directories`` or ``files``.
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

    @property
    def is_option(self) -> bool:
        """Whether it is given by name."""
        return self.names[0].startswith("-")


class Command(NamedTuple):
    """One command; ``handler`` is ``module:function``, imported when it runs."""

    path: tuple[str, ...]
    summary: str
    description: str
    example: str
    handler: str = ""
    arguments: tuple[Argument, ...] = ()


def _option(name: str, help: str, metavar: str = "", **more: Any) -> Argument:
    names = (f"-{name[2]}", name) if name == "--param" else (name,)
    dest = more.pop("dest", name.lstrip("-").replace("-", "_"))
    return Argument(names, help, dest, metavar, flag=not metavar and "choices" not in more, **more)


def _positional(metavar: str, dest: str, help: str, **more: Any) -> Argument:
    return Argument((dest,), help, dest, metavar, **more)


JSON = _option("--json", "print JSON for programs")
CONFIG = _option("--config", "the configuration file to use", "FILE", values="files")
CWD = _option("--cwd", "the working directory (default: this one)", "DIR", values="directories")
RECIPE_CWD = _option("--cwd", "the project (default: this directory)", "DIR", values="directories")
SESSION = _option("--session", "go on in this session (default: a new one)", "ID")
AGENT = _option("--agent", "the agent that does the work", "AGENT")
DETACH = _option("--detach", "start it, print the run's id and do not follow")
RUN = _positional("RUN", "run_id", "a run's id, or its beginning", values="runs")
TEXT = _positional("TEXT", "words", "the message; '-' reads standard input")

COMMANDS = (
    Command(
        ("up",),
        "start the daemon",
        "Start the daemon in the background and wait until it answers. One that runs already "
        "is left alone.",
        "podium up",
        "commands_daemon:up",
        (_option("--foreground", "stay in the foreground and log to standard error"), CONFIG, JSON),
    ),
    Command(
        ("down",),
        "stop the daemon; running turns are interrupted",
        "Interrupt running turns, stop the daemon and wait until it is gone. A run of a recipe "
        "whose turn is interrupted is paused: after the next 'podium up', 'podium resume RUN' "
        "lets it go on. A plain prompt is ended.",
        "podium down",
        "commands_daemon:down",
        (JSON,),
    ),
    Command(
        ("status",),
        "what the daemon is doing",
        "Version, process, gateway, sessions, active runs and prompts, and open questions.",
        "podium status --json",
        "views:status",
        (JSON,),
    ),
    Command(
        ("prompt",),
        "send one prompt and stream the answer",
        "One turn, in a session or a new one. The answer goes to standard output, everything "
        "else to standard error. Ctrl-C ends only the watching.",
        "git diff | podium prompt - --session 8c1f2d3e-0a4b-4c5d-9e6f-7a8b9c0d1e2f",
        "commands_start:prompt",
        (
            TEXT,
            SESSION,
            CWD,
            AGENT,
            DETACH,
            _option(
                "--if-busy",
                "what to do when the session is held (default: refuse)",
                choices=("refuse", "queue", "steer"),
            ),
            _option("--fork", "send it to a fork of the session"),
            _option("--take-over", "interrupt the run that holds the session, and pause it"),
            JSON,
        ),
    ),
    Command(
        ("run",),
        "start a recipe and follow it",
        "Start a recipe and follow it to its end. Ctrl-C ends only the following. Exit code: 0 "
        "completed, 1 failed, 3 stopped by a limit, 4 a person is needed, 5 the session or "
        "working tree is held, 130 cancelled.",
        "podium run implement-and-review --cwd ~/project -p task='Add a test'",
        "commands_start:run",
        (
            _positional("RECIPE", "recipe", "a recipe's id", values="recipes"),
            CWD,
            SESSION,
            Argument(
                ("-p", "--param"),
                "a parameter of the recipe; may be repeated",
                "params",
                "NAME=VALUE",
                repeat=True,
            ),
            _option("--agent", "the agent for every step", "AGENT"),
            _option("--worktree", "work in a git worktree of its own"),
            DETACH,
            _option(
                "--on-question",
                "ask here, wait for an answer from anywhere, or fail "
                "(default: ask at a terminal, else wait)",
                choices=("ask", "wait", "fail"),
            ),
            JSON,
        ),
    ),
    Command(
        ("runs",),
        "list the active runs",
        "The active runs, or with --all the latest of all. 'show' and 'log' look into one.",
        "podium runs --all",
        "views:runs",
        (_option("--all", "ended runs too", dest="ended_too"), JSON),
    ),
    Command(
        ("runs", "show"),
        "one run: steps, outcomes, cost, end",
        "All about one run.",
        "podium runs show 1a2b3c4d",
        "commands_runs:show",
        (RUN, JSON),
    ),
    Command(
        ("runs", "log"),
        "the events of a run, one a line",
        "Everything that was decided in a run, in order.",
        "podium runs log 1a2b3c4d --follow",
        "commands_runs:log",
        (RUN, _option("--follow", "go on until the run ends", dest="follow_on"), JSON),
    ),
    Command(
        ("attach",),
        "follow a run from its beginning to its end",
        "What happened so far, then what happens, like 'podium run'. Same exit codes.",
        "podium attach 1a2b3c4d",
        "commands_start:attach",
        (RUN, JSON),
    ),
    Command(
        ("questions",),
        "list the open questions",
        "Questions that wait for a person, with what the agent wants to do. 'podium answer' "
        "answers one.",
        "podium questions",
        "views:questions",
        (JSON,),
    ),
    Command(
        ("answer",),
        "answer a question, or show its choices",
        "The first valid answer counts. Without a value the question and its choices are shown.",
        "podium answer 5e6f7a8b allow",
        "commands_runs:answer",
        (
            _positional("QUESTION", "question_id", "its id or beginning", values="questions"),
            _positional("VALUE", "value", "the answer", optional=True, values="answers"),
            _option("--note", "a word that goes with the answer", "TEXT"),
            JSON,
        ),
    ),
    Command(
        ("pause",),
        "pause a run at the end of its turn",
        "The running turn goes on to its end; then the run stands still until it is resumed.",
        "podium pause 1a2b3c4d",
        "commands_runs:pause",
        (RUN, JSON),
    ),
    Command(
        ("resume",),
        "let a paused run go on",
        "A run that was interrupted goes on with a prompt that says so.",
        "podium resume 1a2b3c4d",
        "commands_runs:resume",
        (RUN, JSON),
    ),
    Command(
        ("cancel",),
        "end a run",
        "Stop its turn and end the run. Returns when the agent is gone.",
        "podium cancel 1a2b3c4d",
        "commands_runs:cancel",
        (RUN, JSON),
    ),
    Command(
        ("interrupt",),
        "stop the running turn and pause the run",
        "Returns when the agent is gone; 'podium resume' goes on.",
        "podium interrupt 1a2b3c4d",
        "commands_runs:interrupt",
        (RUN, JSON),
    ),
    Command(
        ("steer",),
        "send a message into the running turn",
        "The agent gets it while it works; after the turn it goes into the next prompt.",
        "podium steer 1a2b3c4d 'Leave the public interface as it is.'",
        "commands_runs:steer",
        (RUN, TEXT, JSON),
    ),
    Command(
        ("recipe",),
        "list and show recipes",
        "Recipes are state machines for agents: steps, outcomes, limits.",
        "podium recipe list",
    ),
    Command(
        ("recipe", "list"),
        "the recipes there are",
        "The project's, yours and the built-in ones.",
        "podium recipe list --cwd ~/project",
        "commands_recipes:list_recipes",
        (RECIPE_CWD, JSON),
    ),
    Command(
        ("recipe", "show"),
        "a recipe's steps, outcomes and limits",
        "The recipe as text, or with --json as data.",
        "podium recipe show implement-and-review",
        "commands_recipes:show",
        (_positional("NAME", "name", "a recipe's id", values="recipes"), RECIPE_CWD, JSON),
    ),
    Command(
        ("recipe", "outcome"),
        "how a reply would be read at a step",
        "Read an agent's reply and print the outcome that would be taken from it; exit code 1 "
        "and the reason where there is none.",
        "podium recipe outcome implement-and-review code-review reply.txt",
        "commands_recipes:outcome",
        (
            _positional("NAME", "name", "a recipe's id", values="recipes"),
            _positional("STEP", "step", "one of its steps", values="steps"),
            _positional(
                "FILE",
                "file",
                "the reply (default: standard input, as with '-')",
                optional=True,
                default="-",
                values="files",
            ),
            RECIPE_CWD,
            JSON,
        ),
    ),
    Command(
        ("orchestration",),
        "switch recipes on or off",
        "Off: no recipe starts, and active runs end after their turn. Kept over restarts.",
        "podium orchestration off",
        "commands_recipes:orchestration",
        (_positional("on|off", "state", "the switch", choices=("on", "off")), JSON),
    ),
    Command(
        ("locks",),
        "who holds which session and working tree",
        "Runs, prompts and foreign processes that hold something.",
        "podium locks",
        "views:locks",
        (JSON,),
    ),
    Command(
        ("config",),
        "show the configuration",
        "'show' prints the effective values and where each is from, 'path' the file's place. "
        "Works without a running daemon.",
        "podium config show",
        "commands_daemon:config",
        (
            _positional("show|path", "action", "what to print", choices=("show", "path")),
            CONFIG,
            JSON,
        ),
    ),
    Command(
        ("rpc",),
        "one raw call to the daemon",
        "Call a JSON-RPC method and print its result as JSON.",
        'podium rpc runs.get \'{"run_id": "1a2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d"}\'',
        "commands_daemon:rpc",
        (
            _positional("METHOD", "method", "for example daemon.status"),
            _positional("JSON", "params", "its parameters; '-' reads them", optional=True),
            JSON,
        ),
    ),
    Command(
        ("completion",),
        "a completion script for your shell",
        "Print a script for bash, zsh or fish.",
        "source <(podium completion bash)  # in ~/.bashrc",
        "complete:completion",
        (_positional("SHELL", "shell", "the shell", choices=("bash", "zsh", "fish")),),
    ),
    Command(
        ("help",),
        "help on Podium, or on a command",
        "The same as --help.",
        "podium help recipe list",
        "cli:show_help",
        (
            _positional(
                "COMMAND", "path", "a command", repeat=True, optional=True, values="commands"
            ),
        ),
    ),
)
