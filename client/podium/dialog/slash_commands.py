"""Words that a chat handles itself: those that leave it, and commands after a slash."""

from __future__ import annotations

import re

from podium import text

LEAVING = ("exit", "quit", "/exit", "/quit")

HELP = """\
Say what you want done. A line that ends in \\ goes on in the next one{keys}.
While the agent works, what you type waits for its turn{steer}.
Ctrl-C interrupts it.
Where it asks for leave: y is yes, n is no, a is always in this run;
words after them are told to the agent, other words are no, and why. An empty line is no.
Where it asks something else: a number or your own words; 1,3 where several can be chosen.

  /help           this
  /status         agent, directory, session, mode, model, what it has cost so far
  /session        the session's id, and how to come back to it
  /mode [MODE]    what the agent may do unasked{modes}
  /recipe NAME [PARAMETER=VALUE ...]
                  start a recipe in this conversation
  /resume, /stop  let the recipe go on that Ctrl-C has paused, or end it
  /exit           leave; exit, quit and Ctrl-D do too (exit at a question leaves it open)

//words sends /words to the agent.
"""

KEYS = ",\nand so does one that you end with Alt-Enter; a paste is one message"

AT_PROMPT = ("recipe", "resume", "stop")
"""Commands that follow the recipe, and so have to wait for the prompt."""

_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)


def leaves(message: str) -> bool:
    """Return whether these words end the chat; case and a full stop do not matter."""
    return message.strip().rstrip(".").strip().casefold() in LEAVING


def command(message: str) -> tuple[str, str] | None:
    """Parse a command and what follows it; ``None`` for words meant for the agent."""
    found = _COMMAND.fullmatch(message.strip())
    return (found[1], (found[2] or "").strip()) if found else None


def for_agent(message: str) -> str:
    """Return the message without the slash that distinguishes it from a command."""
    return message[1:] if message.startswith("//") else message


def help_text(*, person: bool, recipe: bool, modes: tuple[str, ...], width: int) -> str:
    """Build the text of ``/help``, in lines of at most ``width`` cells (0: any).

    ``person``: at a terminal that edits lines; ``modes`` are the agent's words, as far as they are
    known.
    """
    known = f": {', '.join(modes)}" if modes else ""
    steer = "; the recipe's agent gets it at once" if recipe else ""
    words = HELP.format(keys=KEYS if person else "", steer=steer, modes=known)
    return "".join(f"{fit}\n" for line in words.splitlines() for fit in _fitted(line, width))


def _fitted(line: str, width: int) -> list[str]:
    """Break a line between words; a command goes above what it does where they do not fit."""
    if not width or text.cells(line) <= width:
        return [line]
    if not line.startswith("  "):
        return text.wrapped(line, width)
    name, _, meaning = line.strip().rpartition("  ")
    above = [f"  {name.rstrip()}"] if name else []
    return [*above, *text.wrapped(f"    {meaning}", width, 4)]


def goes_on(line: str) -> bool:
    """Return whether a typed line goes on with the next.

    It ends in a backslash that is not itself marked by one.
    """
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
