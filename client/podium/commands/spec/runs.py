"""The commands about runs, their questions and their control."""

from __future__ import annotations

from podium.commands.spec.table import (
    CWD,
    DETACH,
    JSON,
    PARAMS,
    RUN,
    RUN_OR_LATEST,
    SCRIPT,
    SESSION,
    TEXT,
    Command,
    option,
    positional,
)

RUNS = (
    Command(
        ("run",),
        "start a recipe and follow it",
        "Start a recipe and follow it to its end. Where it is a conversation you are asked for "
        "what to say; elsewhere the command that says it is printed, and the run waits. Ctrl-C "
        "ends only the following. Exit code: 0 "
        "completed, 1 failed, 3 stopped by a limit, 4 a person is needed, 5 the session or "
        "working tree is held, 130 cancelled.",
        "podium run implement-and-review --cwd ~/project -p task='Add a test'",
        "commands.start:run",
        (
            positional(
                "RECIPE",
                "recipe",
                "a recipe's id (without one the recipes are listed)",
                values="recipes",
                optional=True,
            ),
            PARAMS,
            option("--worktree", "work in a git worktree of its own"),
            DETACH,
            option("--agent", "the agent for every step", "AGENT"),
            option("--model", "the model of the run's agent, before a step's own", "MODEL"),
            SCRIPT,
            SESSION,
            CWD,
            option(
                "--on-question",
                "ask here, wait for an answer from anywhere, or fail "
                "(default: ask at a terminal, else wait)",
                choices=("ask", "wait", "fail"),
            ),
            option("--anyway", "start a recipe that commits in the whole home, or in '/'"),
            JSON,
        ),
    ),
    Command(
        ("runs",),
        "list the active runs",
        "The active runs, and how many prompts are at work beside them; with --all the latest runs "
        "of all, with --before those that began before one. 'show' and 'log' look into one, "
        "'export' makes a page of it.",
        "podium runs --all",
        "commands.status:runs",
        (
            option("--all", "ended runs too", dest="ended_too"),
            option("--limit", "how many, ended ones too (default: 50)", "N"),
            option(
                "--before", "those that began before this one, ended ones too", "RUN", values="runs"
            ),
            JSON,
        ),
    ),
    Command(
        ("runs", "show"),
        "one run: steps, outcomes, times, costs, end",
        "All about one run: its steps with outcomes and their sources, work, waiting and cost; "
        "its questions and who answered; what a conversation has saved; how it ended and what to "
        "do next. With --json the run "
        "with its 'steps'.",
        "podium runs show 1a2b3c4d",
        "commands.runs_show:show",
        (RUN_OR_LATEST, JSON),
    ),
    Command(
        ("runs", "log"),
        "the events of a run, one a line",
        "Everything that was decided in a run, in order.",
        "podium runs log 1a2b3c4d --follow",
        "commands.runs:log",
        (RUN_OR_LATEST, option("--follow", "go on until the run ends", dest="follow_on"), JSON),
    ),
    Command(
        ("runs", "rename"),
        "give a run a title",
        "The run, and the sessions that it began, are called by the title everywhere, also once it "
        "has ended. With '' the run is called by its recipe and task again.",
        "podium runs rename 1a2b3c4d 'Slugs, second try'",
        "commands.runs:rename",
        (
            RUN,
            positional("TITLE", "title", "one line of at most 80 characters", may_be_empty=True),
            JSON,
        ),
    ),
    Command(
        ("runs", "export"),
        "a run as one page to keep or to send",
        "The whole run in one file: an HTML page that needs nothing else, or JSON with the run, "
        "its events, its steps and what it changed. At a terminal it becomes 'run-RUN.html' or "
        "'.json' among the daemon's own files, never in a project, and the path is printed; "
        "elsewhere it goes to standard output.",
        "podium runs export 1a2b3c4d --output run.html",
        "commands.export:export",
        (
            RUN_OR_LATEST,
            option("--format", "what to write (default: html)", choices=("html", "json")),
            option(
                "--output",
                "the file to write, even if it is there; '-' is standard output",
                "FILE",
                values="files",
            ),
            option("--open", "show it in a browser"),
            option("--json", "JSON for programs, the same as '--format json'"),
        ),
    ),
    Command(
        ("diff",),
        "what a run has changed",
        "The commits and files of a run since it began, and their patch, also while it goes on. "
        "What was changed before the run, and is as it was, is not among it. Into a pipe or file "
        "goes the patch alone, as 'git apply' takes it.",
        "podium diff 1a2b3c4d --stat",
        "commands.diff:diff",
        (RUN_OR_LATEST, option("--stat", "the files and the number of lines only"), JSON),
    ),
    Command(
        ("attach",),
        "follow a run from its beginning to its end",
        "What happened so far, then what happens, like 'podium run': a conversation goes on here. "
        "Same exit codes.",
        "podium attach 1a2b3c4d",
        "commands.start:attach",
        (RUN_OR_LATEST, JSON),
    ),
    Command(
        ("questions",),
        "list the open questions",
        "Questions that wait for a person, with what the agent wants to do. 'podium answer' "
        "answers one.",
        "podium questions",
        "commands.status:questions",
        (JSON,),
    ),
    Command(
        ("answer",),
        "answer a question, or show its choices",
        "The first valid answer counts. Without a value the question and its choices are shown. "
        "Several choices are joined by commas; a table is a JSON list of objects.",
        "podium answer 5e6f7a8b allow",
        "commands.runs:answer",
        (
            positional("QUESTION", "question_id", "its id or beginning", values="questions"),
            positional(
                "VALUE",
                "value",
                "the answer",
                optional=True,
                values="answers",
                means="answer",
                otherwise="without one the question and its choices are shown",
            ),
            option("--note", "a word that goes with the answer", "TEXT"),
            JSON,
        ),
    ),
    Command(
        ("pause",),
        "pause a run at the end of its turn",
        "The running turn, command or check goes on to its end; then the run stands still until it "
        "is resumed.",
        "podium pause 1a2b3c4d",
        "commands.runs:pause",
        (RUN, JSON),
    ),
    Command(
        ("resume",),
        "let a paused run go on",
        "A run that was interrupted goes on with a prompt that says so.",
        "podium resume 1a2b3c4d",
        "commands.runs:resume",
        (RUN, JSON),
    ),
    Command(
        ("cancel",),
        "end a run",
        "Stop its turn and end the run. Returns when the agent is gone.",
        "podium cancel 1a2b3c4d",
        "commands.runs:cancel",
        (RUN, JSON),
    ),
    Command(
        ("interrupt",),
        "stop the running turn, command or check and pause the run",
        "Returns when nothing of it lives; 'podium resume' goes on.",
        "podium interrupt 1a2b3c4d",
        "commands.runs:interrupt",
        (RUN, JSON),
    ),
    Command(
        ("steer",),
        "send a message into the running turn",
        "The agent gets it while it works; after the turn it goes into the next prompt.",
        "podium steer 1a2b3c4d 'Leave the public interface as it is.'",
        "commands.runs:steer",
        (RUN, TEXT, JSON),
    ),
)
