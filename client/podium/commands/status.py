"""Most frequent requests: the daemon's status, the runs, the open questions, the locks.

One round trip each (two for the questions, where conversations that wait for words stand beside
them, and for the runs, where prompts at work do), and no import that the answer does not need.
"""

from __future__ import annotations

import sys

from podium import __version__, text
from podium.rpc.connection import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from podium import protocol

LISTED_RUNS = 50
NAME_CELLS = 60


def status(storage: bool = False, json: bool = False) -> int:
    """``podium status``."""
    if storage:
        from podium.commands import storage as commands_storage

        return commands_storage.storage(json)
    answer = call("daemon.status")
    if json:
        return text.emit_json({**answer, "client_version": __version__})
    style = text.Style(sys.stdout)
    lines = [(name, words) for name, words in _status_lines(answer) if words]
    said = [(name, text.fold(words)) for name, words in lines]
    text.emit(text.block(said, text.columns(), style) + "\n")
    _tell_conversations(waiting_conversations(answer))
    if answer.get("version") != __version__:
        from podium.rpc import version_mismatch

        version_mismatch.tell(answer)
    return 0


def _voice(voice: Mapping[str, Any]) -> str:
    """Describe the state of speech input and its model; name the command that sets it up."""
    state, model = str(voice.get("state") or ""), str(voice.get("model") or "")
    if state in ("not-installed", "no-model"):
        return f"{state.replace('-', ' ')} ('podium voice status')"
    return f"{state} ({model})" if model else state


def _status_lines(answer: protocol.DaemonStatus) -> list[tuple[str, str]]:
    started = text.epoch(answer.get("started_at"))
    gateway = answer.get("gateway", {})
    orchestration = answer.get("orchestration", {})
    taken = answer.get("taken_up") or 0
    reach = "off"
    if gateway.get("problem"):
        reach = f"not running: {gateway['problem']}"
    elif gateway.get("enabled"):
        clients = text.counted(int(gateway.get("clients") or 0), "client")
        unsafe = ", without TLS: 'podium pair' says what to do" if gateway.get("warning") else ""
        reach = f"{gateway.get('url') or 'on'} ({clients}{unsafe})"
    return [
        ("daemon", f"{_how(answer)}, pid {answer.get('pid')}"),
        ("version", str(answer.get("version", ""))),
        ("started", "" if started is None else text.ago(answer.get("started_at"))),
        ("socket", str(answer.get("socket", ""))),
        ("gateway", reach),
        ("sessions", str(answer.get("sessions", ""))),
        ("active runs", _runs(answer)),
        ("active prompts", _prompts(answer)),
        ("open questions", _with_hint(answer.get("questions_open"), "podium questions")),
        ("voice", _voice(answer.get("voice", {}))),
        (
            "recipes",
            "on" if orchestration.get("enabled", True) else "off ('podium orchestration on')",
        ),
        ("turns taken up", str(taken) if taken else ""),
        (
            "configuration",
            _configuration(answer.get("configuration", {})),
        ),
    ]


def _runs(status: Mapping[str, Any]) -> str:
    """Count the runs of recipes that have not ended, and those of them that are paused."""
    paused = status.get("runs_paused")
    return f"{status.get('runs_active', '')}" + (f", {paused} paused" if paused else "")


def _prompts(status: Mapping[str, Any]) -> str:
    """Describe how many there are, how many of them wait in line, and which command lists them."""
    said = _with_hint(status.get("prompts_active"), "podium runs")
    waiting = status.get("prompts_waiting")
    return f"{said}, {waiting} in line" if waiting else said


def _how(answer: protocol.DaemonStatus) -> str:
    service = answer.get("service")
    return f"running as a service ({service})" if service else "running"


def _configuration(state: Mapping[str, Any]) -> str:
    """Describe how the daemon differs from the file, and its warnings; empty without any."""
    if state.get("problem"):
        return f"the file is not in force: {state['problem']}"
    waiting = ", ".join(str(one.get("key")) for one in state.get("pending") or [])
    if waiting:
        return f"waits for a restart: {waiting} ('podium config show --running')"
    return "; ".join(map(str, state.get("warnings") or []))


def _with_hint(number: object, command: str) -> str:
    return f"{number} ('{command}')" if number else "0"


def runs(
    ended_too: bool, limit: str | None = None, before: str | None = None, json: bool = False
) -> int:
    """``podium runs``: the active ones, or the latest of all, or those that began before one."""
    listed = ended_too or limit is not None or before is not None
    if listed:
        answer, wanted = _listed(limit, before)
    else:
        answer, wanted = call("runs.list", {"active": True}), 0
    if json:
        text.emit_json(answer)
    elif not answer:
        none = "No active runs ('podium runs --all' shows ended ones)."
        older = f"No run began before {before}."
        text.say(f"{older if before else 'No runs yet.' if listed else none}")
    else:
        text.emit(_runs_table([run_row(run) for run in answer], text.columns()))
        if listed and len(answer) == wanted:
            last = text.short(answer[-1].get("run_id"))
            text.tell(f"Those before: 'podium runs --before {last}'.")
    if not (json or listed):
        _say_prompts(call("daemon.status"))
    return 0


def _runs_table(rows: list[tuple[str, ...]], width: int) -> str:
    """Format the runs, one a line; in a narrow terminal its name and step are on another."""
    if not width or width < text.NARROW or text.listing(RUN_HEADINGS, rows, width)[0]:
        return text.table(RUN_HEADINGS, rows, width)
    apart = [RUN_HEADINGS.index(name) for name in ("NAME", "STEP")]
    shown = [column for column in range(len(RUN_HEADINGS)) if column not in apart]
    fewer = [[row[column] for column in shown] for row in rows]
    heading, lines = text.listing([RUN_HEADINGS[column] for column in shown], fewer, width)
    if not heading:
        return text.table(RUN_HEADINGS, rows, width)
    margin = " " * 10
    told = (" at ".join(row[column] for column in apart if row[column] != "-") for row in rows)
    below = [margin + text.fold(words, width - len(margin)) for words in told]
    pairs = [part for both in zip(lines, below, strict=True) for part in both]
    return "\n".join([heading, *pairs]) + "\n"


def _say_prompts(status: protocol.DaemonStatus) -> None:
    """List the prompts that have not ended: each is a run too, and can be followed by its id."""
    prompts = status.get("prompts") or []
    if not prompts:
        return
    text.say("")
    text.emit(text.table(PROMPT_HEADINGS, map(_prompt_row, prompts), text.columns()))
    said = "'podium attach PROMPT' follows one, 'podium cancel PROMPT' ends it."
    more = int(status.get("prompts_active") or 0) - len(prompts)
    said = f"And {more} that began later. {said}" if more > 0 else said
    text.tell("\n".join(text.wrapped(said, text.columns(), hang=4)))


def _prompt_row(prompt: protocol.ActivePrompt) -> tuple[str, ...]:
    from podium.render.words import run_name

    queued = prompt.get("status") == "queued"
    also = ", paused" if prompt.get("paused") and prompt.get("status") != "paused" else ""
    return (
        text.short(prompt.get("run_id")),
        text.fold(run_name(prompt), NAME_CELLS),
        ("in line" if queued else text.fold(prompt.get("status"))) + also,
        text.ago(prompt.get("started_at")),
        text.short(prompt.get("session_id")),
    )


def _listed(limit: str | None, before: str | None) -> tuple[list[protocol.Run], int]:
    """List the newest runs that began before one, and return how many were asked for."""
    from podium.commands.sessions import MOST_AT_ONCE, MOST_LISTED, whole_number

    wanted = whole_number("--limit", limit, LISTED_RUNS, least=1, most=MOST_LISTED)
    rows: list[protocol.Run] = []
    while len(rows) < wanted:
        params: protocol.ListRuns = {"limit": min(wanted - len(rows), MOST_AT_ONCE)}
        if before is not None:
            params["before"] = before
        page = call("runs.list", params)
        rows += page
        if len(page) < params["limit"]:
            break
        before = str(page[-1]["run_id"])
    return rows[:wanted], wanted


PROMPT_HEADINGS = ("PROMPT", "WORDS", "STATUS", "STARTED", "SESSION")
RUN_HEADINGS = ("RUN", "NAME", "STATUS", "STEP", "STARTED", "COST", "DIRECTORY")


def run_row(run: protocol.Run) -> tuple[str, ...]:
    """Format a run as a line of ``podium runs``."""
    from podium.render.words import end_sign, home_relative, run_name, status_words

    ended = run.get("exit")
    step, visits = run.get("step"), run.get("visits") or {}
    return (
        text.short(run.get("run_id")),
        text.fold(run_name(run), NAME_CELLS),
        f"{end_sign(ended)} {ended['reason']}" if ended else status_words(run),
        f"{step} ({visits.get(step, 1)})" if step else "-",
        text.ago(run.get("started_at")),
        _cost(run),
        home_relative(run.get("working_directory")),
    )


def _cost(run: protocol.Run) -> str:
    """Format the money of a run, or its tokens where its agents tell no money."""
    used = run.get("tokens")
    if run.get("cost_usd") or used is None or not used["read"] + used["written"]:
        return text.money(run.get("cost_usd"))
    return f"{text.count(used['read'] + used['written'])} tokens"


def questions(json: bool) -> int:
    """``podium questions``: the open ones, and the conversations that wait for words."""
    answer: list[protocol.Question] = call("questions.list")
    if json:
        return text.emit_json(answer)
    talks = waiting_conversations(call("daemon.status"))
    if not (answer or talks):
        text.say("No open questions.")
    if answer:
        headings = ("QUESTION", "RUN", "KIND", "ASKED", "ANSWERS")
        width = text.columns()
        heading, rows = text.listing(headings, map(_question_row, answer), width)
        lines = [heading] if heading else []
        for question, row in zip(answer, rows, strict=True):
            lines += [row, *(part for line in _asked(question) for part in _fitted(line, width))]
        text.say("\n".join(lines))
    _tell_conversations(talks)
    return 0


def waiting_conversations(status: protocol.DaemonStatus) -> list[str]:
    """Build a line for each conversation that waits for its person's words."""
    talks = status.get("talks_waiting")
    if not talks:
        return []
    from podium.render.words import run_name

    return [
        f"{text.short(run.get('run_id'))} {text.fold(run_name(run), NAME_CELLS)} waits for your "
        f"words: podium prompt --session {text.short(run.get('session_id'))} TEXT"
        for run in talks
    ]


def _tell_conversations(lines: list[str]) -> None:
    for line in lines:
        text.say("\n".join(text.wrapped(line, text.columns(), hang=4)))


def _question_row(question: protocol.Question) -> tuple[str, ...]:
    from podium.render.question import answers_of

    paused = " (paused)" if question.get("paused") else ""
    return (
        text.short(question.get("question_id")),
        f"{text.short(question.get('run_id'))} {_of(question)}".rstrip() + paused,
        str(question.get("kind", "")),
        text.ago(question.get("opened_at")),
        answers_of(question),
    )


def _of(question: protocol.Question) -> str:
    return text.fold(question.get("run_name") or "", NAME_CELLS)


def _fitted(line: str, width: int) -> list[str]:
    return text.wrapped(line, width, hang=4)


def _asked(question: protocol.Question) -> list[str]:
    from podium.render.question import LISTED_LINES, asked, listed

    told = [*asked(question).split("\n"), *(f"  {one}" for one in listed(question, LISTED_LINES))]
    return [f"    {line}" for line in told]


def locks(json: bool) -> int:
    """``podium locks``: who holds which session and working tree."""
    answer: list[protocol.Lock] = call("sessions.locks")
    if json:
        text.emit_json(answer)
    elif not answer:
        text.say("Nothing is held.")
    else:
        text.emit(
            text.table(("HELD", "BY", "SINCE", "WHAT"), map(_lock_row, answer), text.columns())
        )
    return 0


def _lock_row(lock: protocol.Lock) -> tuple[str, ...]:
    from podium.render.words import holder_words, home_relative

    holder = lock.get("holder") or {}
    session = lock.get("session_id")
    return (
        "session" if session else "working tree",
        holder_words(holder),
        text.ago(holder.get("since")),
        str(session or home_relative(lock.get("working_directory"))),
    )


def sessions(json: bool) -> int:
    """``podium sessions``, without anything else."""
    from podium.commands import sessions as commands_sessions

    return commands_sessions.sessions(None, None, None, json)


HOT: dict[str, Callable[..., int]] = {
    "status": status,
    "sessions": sessions,
    "runs": runs,
    "questions": questions,
    "locks": locks,
}
