"""``podium recipe new``: a recipe to begin with. Needs no daemon."""

from __future__ import annotations

import os
import re
import shlex

from podium import paths, text
from podium.errors import OK, USAGE, Failure

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST_NAME = 64

SKELETON = '''\
# A recipe is a state machine for coding agents. Each step prompts an agent. The agent ends its
# answer with one word of the step's list, its outcome, and that leads to the next step or ends
# the run. Lines that begin with '#' are notes to you: take away what you do not need.
format = 1
id = "@ID@"
label = "@LABEL@"
description = "Do one thing, have it reviewed, commit it"
initial = "work"

# What is given at the start: podium run @ID@ -p task='...'
[params.task]
type = "string"                    # or: integer, boolean, choice, path
description = "What to do, in your own words"
# default = ""                     # without a default it must be given

# A recipe that can come back to a step needs max_step_visits or max_total_steps.
[limits]
max_step_visits = 3
max_minutes = 120                  # of work; waiting for you does not count
# max_cost_usd = 10.0              # as far as the agent tells its cost
# on_limit = "ask"                 # ask for more in place of ending the run

[steps.work]
# {{task}} is replaced by the parameter, {{last.review.detail}} by what the review found.
prompt = """
Your task: {{task}}

Read the code around it first. Keep to what the task asks for, and prove that it works. Do not
commit.

The outcome is "complete" when the task is done, and "unclear" when you cannot go on without an
answer from a person; say then what you need to know.

{{last.review.detail}}
"""
# prompt_file = "@ID@/work.md"     # or a file beside this one, in place of 'prompt'
allow = ["Bash", "Edit", "Write"]  # what the agent may do unasked; for the rest it asks you
# A command that must succeed before Podium believes the outcome:
# checks = [{ run = ["make", "test"], timeout_seconds = 600 }]

[steps.work.on]
complete = { to = "review" }
unclear  = { exit = "clarification-needed" }
# checks-failed = { to = "work" }  # where a failed check leads; without it the run ends

[steps.review]
session = "fresh"                  # a new conversation: it has not seen how the work was done
prompt = """
Review what has changed since the last commit; 'git diff HEAD' and 'git status' show it. The task
was: {{task}}

Look for faults, missing cases and missing tests. Change nothing.

The outcome is "no-issues", or "issues-found" with a list of them: file, line, what is wrong.
"""
allow = ["Bash"]

[steps.review.on]
no-issues    = { to = "commit" }
issues-found = { to = "work" }

[steps.commit]
gate = "Commit it?"                # asks you first; without this line it goes on by itself
commits = true                     # the run begins on a clean tree, or asks
prompt = """
Commit the changes of the task "{{task}}", and nothing else, with a message that says why. Do not
push.

The outcome is "committed", or "nothing-to-commit".
"""
allow = ["Bash"]

[steps.commit.on]
committed         = { exit = "changes-committed" }
nothing-to-commit = { exit = "no-changes-to-commit" }
'''


def new(name: str, cwd: str | None, user: bool, json: bool) -> int:
    """Write a recipe to begin with, and say what to do next."""
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise Failure(
            f"'{text.fold(name, 80)}' is no id for a recipe: write lower-case words joined by "
            f"hyphens, at most {LONGEST_NAME} characters, such as 'ship-a-fix'.",
            USAGE,
        )
    if user and cwd is not None:
        raise Failure("--cwd names a project and --user means none: give one of them.", USAGE)
    place = paths.user_recipes() if user else project_place(cwd or os.getcwd())
    path = os.path.join(place, f"{name}.toml")
    _write(path, skeleton(name), private=user)
    if json:
        return text.emit_json({"id": name, "path": path})
    text.emit(f"{text.fold(path)}\n")
    text.tell("Edit it: it says what each line does. Then")
    for command, what in _next(name, path, cwd, user):
        text.tell(f"  {text.fold(shlex.join(command))}  {what}")
    return OK


def skeleton(name: str) -> str:
    """Build a whole recipe of that id, with notes on what can be changed."""
    label = name.replace("-", " ").capitalize()
    return SKELETON.replace("@ID@", name).replace("@LABEL@", label)


def project_place(directory: str) -> str:
    """Return where the recipes of the project around a directory are, or would be.

    The daemon looks in the nearest ``.podium/recipes``, up to the top of the checkout.
    """
    start = os.path.realpath(directory)
    if not os.path.isdir(start):
        raise Failure(f"{text.fold(directory)} is no directory.", USAGE)
    way, ways = start, [start]
    while not os.path.lexists(os.path.join(way, ".git")) and way != os.path.dirname(way):
        way = os.path.dirname(way)
        ways.append(way)
    if not os.path.lexists(os.path.join(way, ".git")):
        ways = [start]
    places = [os.path.join(way, ".podium", "recipes") for way in ways]
    place = next((one for one in places if os.path.lexists(one)), places[-1])
    for part in (os.path.dirname(place), place):
        if os.path.islink(part):
            raise Failure(f"{text.fold(part)} is a link, which the recipes of a project have not.")
    return place


def _write(path: str, words: str, private: bool) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700 if private else 0o777, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError as error:
        raise Failure(
            f"{text.fold(path)} exists already: choose another id, or edit that file."
        ) from error
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(words)


def _next(name: str, path: str, cwd: str | None, user: bool) -> list[tuple[list[str], str]]:
    where = [] if cwd is None else ["--cwd", os.path.abspath(cwd)]
    steps = [
        (["podium", "recipe", "check", path], "names every fault"),
        (["podium", "recipe", "show", name, *where], "draws it"),
    ]
    if not user:
        steps.append((["podium", "recipe", "trust", *where], "lets the project's recipes run"))
    return [*steps, (["podium", "run", name, *where, "-p", "task=..."], "runs it")]
