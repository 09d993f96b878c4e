"""The commands about Podium as a service of the person's session."""

from __future__ import annotations

from podium.commands.spec.table import CONFIG, JSON, Command, option

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
        "commands.service:install",
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
        "commands.service:uninstall",
        (DRY_RUN, JSON),
    ),
    Command(
        ("service", "restart"),
        "restart the daemon; turns go on",
        "Let the next daemon take over, after an upgrade for example. Agents work on meanwhile, "
        "and clients that connect wait.",
        "podium service restart",
        "commands.service:restart",
        (JSON,),
    ),
    Command(
        ("service", "status"),
        "whether the service is installed and runs",
        "What the service manager says of it. Exit code 6 where it does not run.",
        "podium service status --json",
        "commands.service:status",
        (JSON,),
    ),
    Command(
        ("service", "logs"),
        "the daemon's log",
        "From the journal, or from the log file where there is none. Without --since the last "
        "1000 lines.",
        "podium service logs --since 1h --level warning --follow",
        "commands.service:logs",
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
