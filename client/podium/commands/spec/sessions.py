"""The commands about sessions and prompts."""

from __future__ import annotations

from podium.commands.spec.table import (
    AGENT,
    CWD,
    DETACH,
    JSON,
    MODEL,
    SCRIPT,
    SESSION,
    TEXT,
    Argument,
    Command,
    option,
    positional,
)

SESSIONS = (
    Command(
        ("sessions",),
        "list the sessions: all conversations of the agents",
        "The conversations that the agents have kept, also those that you began without Podium, "
        "the newest first: how old the last message is, how many there are, what is going on, "
        "where. 'gone' marks those whose transcript was deleted.",
        "podium sessions --project . --limit 50",
        "commands.sessions:sessions",
        (
            option(
                "--project",
                "only those that were begun in this directory",
                "DIR",
                values="directories",
            ),
            option("--limit", "how many (default: 20)", "N"),
            option("--forget", "take a session that is gone off the list", "ID", values="gone"),
            JSON,
        ),
    ),
    Command(
        ("show",),
        "the conversation of a session",
        "The last messages. Words are shown whole, thinking, tools and their results in short; "
        "--json has everything. With --follow what is added is shown as it comes, until Ctrl-C.",
        "podium show 8c1f2d3e -n 50 --follow",
        "commands.show:show",
        (
            positional(
                "SESSION",
                "session",
                "a session's id, or its beginning",
                values="sessions",
                means="session_id",
            ),
            Argument(("-n",), "how many messages (default: 20)", "count", "N"),
            option("--follow", "go on with what is added", dest="follow_on"),
            JSON,
        ),
    ),
    Command(
        ("prompt",),
        "send one prompt and stream the answer",
        "One turn, in a session or a new one. The answer goes to standard output, everything "
        "else to standard error. Ctrl-C ends only the watching. In a session whose recipe is in a "
        "conversation the text goes to its phase, and what comes of it is streamed until it is "
        "your turn again.",
        "git diff | podium prompt - --session 8c1f2d3e-0a4b-4c5d-9e6f-7a8b9c0d1e2f",
        "commands.start:prompt",
        (
            TEXT,
            SESSION,
            CWD,
            AGENT,
            MODEL,
            SCRIPT,
            DETACH,
            option(
                "--if-busy",
                "what to do while a turn runs in the session (default: refuse); where its run only "
                "waits or is paused, the prompt goes through as an aside",
                choices=("refuse", "queue", "steer"),
            ),
            option("--fork", "send it to a fork of the session"),
            option("--take-over", "interrupt the run that holds the session, and pause it"),
            option("--allow-all", "the native agent may do everything unasked in this turn"),
            JSON,
        ),
    ),
)
