"""The commands about the daemon itself."""

from __future__ import annotations

from podium.commands.spec.table import (
    CONFIG,
    JSON,
    Command,
    option,
    positional,
)

PARTS = ("runs", "turns", "checks", "transcripts", "gone", "marks", "copies", "locks")

DAEMON = (
    Command(
        ("up",),
        "start the daemon",
        "Start the daemon in the background and wait until it answers. One that runs already "
        "is left alone.",
        "podium up",
        "commands.daemon:up",
        (option("--foreground", "stay in the foreground and log to standard error"), CONFIG, JSON),
    ),
    Command(
        ("down",),
        "stop the daemon and all that runs",
        "Interrupt running turns, commands and checks, stop the daemon and wait until it is gone. "
        "A run of a recipe that was at work is paused: after the next 'podium up', 'podium "
        "resume RUN' lets it go on. A plain prompt is ended.",
        "podium down",
        "commands.daemon:down",
        (JSON,),
    ),
    Command(
        ("status",),
        "what the daemon is doing",
        "Version, process, gateway, sessions, active runs and prompts, and open questions; with "
        "--storage what takes room on the disk, and what bounds it.",
        "podium status --json",
        "commands.status:status",
        (option("--storage", "what is on the disk, by part"), JSON),
    ),
    Command(
        ("prune",),
        "remove from the disk what is not needed any more",
        "What [retention] says may go is removed now, as it is once a day, and said. --what names "
        "parts: 'gone' and 'copies' go then whatever retention says. Worktrees are listed, and "
        "stay. "
        "--vacuum gives the disk back what facts.db does not use.",
        "podium prune --dry-run",
        "commands.storage:prune",
        (
            option("--dry-run", "say what would go, and remove nothing"),
            option("--vacuum", "make facts.db smaller"),
            option("--what", "this part alone; may be repeated", repeat=True, choices=PARTS),
            JSON,
        ),
    ),
    Command(
        ("doctor",),
        "look for what is wrong, and say how to mend it",
        "Examine agents and their login, directories, socket, port, disk, databases, service, "
        "limits of the system and what was left over: a line for what is not well, with a fix. "
        "Exit code 1 where something is broken. Changes nothing, asks no model, and works without "
        "a running daemon.",
        "podium doctor",
        "commands.doctor:doctor",
        (option("--all", "what is well, too", dest="whole"), CONFIG, JSON),
    ),
    Command(
        ("schema",),
        "the protocol of the socket, for programs",
        "Every method, notification and event with its types, as an OpenRPC document; with "
        "--typescript as declarations of types. Works without a running daemon; one that runs "
        "answers rpc.discover with the document.",
        "podium schema --typescript",
        "commands.schema:schema",
        (option("--typescript", "declarations of types in TypeScript"),),
    ),
)

SERVICE = (
    Command(
        ("locks",),
        "who holds which session and working tree",
        "Runs, prompts and foreign processes that hold something.",
        "podium locks",
        "commands.status:locks",
        (JSON,),
    ),
    Command(
        ("config",),
        "show the configuration, or have it read anew",
        "'show' prints the effective values and where each is from, 'path' the file's place; both "
        "work without a running daemon. 'show --running' prints what the daemon has in force and "
        "what waits for a restart. 'reload' has it read its file anew, as SIGHUP does: a file "
        "with a fault changes nothing.",
        "podium config show --running",
        "commands.config:config",
        (
            positional(
                "show|path|reload",
                "action",
                "what to do",
                choices=("show", "path", "reload"),
                otherwise="settings are changed in the file that 'podium config path' names",
            ),
            option("--running", "with show: as the running daemon has it"),
            CONFIG,
            JSON,
        ),
    ),
    Command(
        ("rpc",),
        "one raw call to the daemon",
        "Call a JSON-RPC method and print its result as JSON.",
        'podium rpc runs.get \'{"run_id": "1a2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d"}\'',
        "commands.daemon:rpc",
        (
            positional("METHOD", "method", "for example daemon.status"),
            positional("JSON", "params", "its parameters; '-' reads them", optional=True),
            JSON,
        ),
    ),
    Command(
        ("mcp",),
        "the tools of a turn, for its agent, which starts this",
        "Serve Podium's tools, those of the step (save, ask, transition, report_outcome, notify), "
        "to an agent that speaks the Model Context Protocol over standard input and output. It "
        "needs PODIUM_TOOLS_TOKEN, which a turn's agent has in its environment: so agents start "
        "this, not people. It holds out while the daemon restarts: a call is done once.",
        "podium mcp  # the command of a stdio server in the agent's configuration",
        "mcp:serve",
    ),
    Command(
        ("completion",),
        "a completion script for your shell",
        "Print a script for bash, zsh or fish.",
        "source <(podium completion bash)  # in ~/.bashrc",
        "cli.complete:completion",
        (positional("SHELL", "shell", "the shell", choices=("bash", "zsh", "fish")),),
    ),
    Command(
        ("help",),
        "help on Podium, or on a command",
        "The same as --help.",
        "podium help recipe list",
        "cli.dispatch:show_help",
        (
            positional(
                "COMMAND", "path", "a command", repeat=True, optional=True, values="commands"
            ),
            option("--all", "every command, by what it is for", dest="everything"),
        ),
    ),
)
