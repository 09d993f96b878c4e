"""The command about conversations at the terminal."""

from __future__ import annotations

from podium.commands.spec.table import CWD, MODEL, PARAMS, SCRIPT, SESSION, Command, option

CHAT = (
    Command(
        ("chat",),
        "talk with an agent",
        "A conversation: you say what you want done, the agent answers, and asks before it "
        "changes or runs something. The agent is Podium's own, which needs an API key or a local "
        "model and no agent CLI; --agent takes another one. '/help' says what can be typed. Ctrl-C "
        "interrupts the agent, 'exit' or Ctrl-D leaves. Without a terminal each line of standard "
        "input is a prompt, answers go to standard output and everything else to standard error; "
        "the line after a question answers it, and no line is no.",
        "podium chat --session 8c1f2d3e",
        "chat.chat:chat",
        (
            CWD,
            option(
                "--agent",
                "the agent to talk with (default: native, or the session's own)",
                "AGENT",
                values="agents",
            ),
            MODEL,
            SCRIPT,
            SESSION,
            option(
                "--recipe",
                "start this recipe in the conversation, and talk into it",
                "RECIPE",
                values="recipes",
            ),
            PARAMS,
            option("--allow-all", "the native agent may do everything unasked"),
            option("--voice", "speak instead of typing"),
        ),
    ),
)
