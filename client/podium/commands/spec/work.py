"""Commands of every day: runs, their worktrees, chats, sessions."""

from __future__ import annotations

from podium.commands.spec.table import (
    AGENT,
    CWD,
    DETACH,
    FILES,
    JSON,
    MODEL,
    PARAMS,
    RUN,
    RUN_OR_LATEST,
    SCRIPT,
    SESSION,
    TEXT,
    Argument,
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
            option("--agent", "the agent of every step that names none", "AGENT", values="agents"),
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
        "commands.runs:show",
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
        "Unchanged earlier edits are excluded. Into a pipe or file "
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
        "The running turn, command or check finishes; then the run is paused until it is resumed.",
        "podium pause 1a2b3c4d",
        "commands.runs:pause",
        (RUN, JSON),
    ),
    Command(
        ("resume",),
        "let a paused run go on",
        "A run that was interrupted resumes with a prompt that reports it.",
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
        "Returns when all its processes have ended; 'podium resume' goes on.",
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

WORKTREE = RUN._replace(otherwise="'podium worktree list' lists what there is")

WORKTREES = (
    Command(
        ("worktree",),
        "the worktrees that runs worked in",
        "A run that was started with '--worktree' has a checkout and a branch of its own, which "
        "stay until you merge and remove them.",
        "podium worktree list",
    ),
    Command(
        ("worktree", "list"),
        "list them: branch, size, age, what is not committed or merged",
        "Every worktree of a run, with what is in it.",
        "podium worktree list",
        "commands.storage:listing",
        (JSON,),
    ),
    Command(
        ("worktree", "merge"),
        "merge the branch of one into the branch checked out where it came from",
        "It is refused where that checkout has uncommitted changes, or a run holds it. A merge "
        "with conflicts is undone and its files are named. No hook runs, and nothing is signed. "
        "The worktree stays.",
        "podium worktree merge 1a2b3c4d",
        "commands.storage:merge",
        (WORKTREE, JSON),
    ),
    Command(
        ("worktree", "remove"),
        "remove one and its branch",
        "It is refused where work would be lost by it: files that are not committed (ignored ones "
        "do not count), commits that no other branch has. What would be is named.",
        "podium worktree remove 1a2b3c4d",
        "commands.storage:remove",
        (WORKTREE, option("--force", "throw away what would be lost"), JSON),
    ),
)

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
            FILES,
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
