"""Commands about agents."""

from __future__ import annotations

from podium.commands.spec.table import CONFIG, JSON, Command, positional

AGENTS = (
    Command(
        ("agents",),
        "list the agents: what is there, and what each can do",
        "Every agent that is configured, with its program and version, what each can do, what is "
        "missing and how to mend it. Each is asked for its version and login alone, 5 s in all.",
        "podium agents",
        "commands.agents:agents",
        (JSON,),
    ),
    Command(
        ("agent",),
        "try an agent out",
        "'podium agents' lists those that there are.",
        "podium agent try codex",
    ),
    Command(
        ("agent", "try"),
        "begin an agent, ask it nothing, and say what it can do",
        "Begin it in a throwaway directory, open a session, and play the cases of the tests that "
        "send no prompt, so that it costs nothing. Prints its version, modes, models and ways to "
        "log in, what each case came to, and what it leaves behind. Exit code 1 where a case "
        "fails. Works without a running daemon.",
        "podium agent try codex",
        "commands.offline:try_out",
        (
            positional("NAME", "agent", "the agent's name", values="agents"),
            CONFIG,
            JSON,
        ),
    ),
)
