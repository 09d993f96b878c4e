"""Commands about agents."""

from __future__ import annotations

from podium.commands.spec.table import JSON, Command

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
)
