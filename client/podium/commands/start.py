"""``podium run``, ``podium prompt`` and ``podium attach``: starting work and following it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from podium import text
from podium.dialog.ask import Asker, TurnAsker
from podium.dialog.conversation import ConversationAsker
from podium.errors import USAGE, Failure, Refusal, stopped
from podium.given import at_terminal, given_text, parse_params, present, whole_path
from podium.render.narrate import Narrator
from podium.render.question import answer_command
from podium.render.screen import Screen
from podium.rpc import follow
from podium.rpc.connection import Connection
from podium.rpc.conversation_state import Carried, ConversationState, say_command, waits_for_words

if TYPE_CHECKING:
    from podium import protocol


def run(
    recipe: str | None,
    params: list[str],
    worktree: bool,
    detach: bool,
    agent: str | None,
    model: str | None,
    script: str | None,
    session: str | None,
    cwd: str | None,
    on_question: Literal["ask", "wait", "fail"] | None,
    anyway: bool,
    json: bool,
) -> int:
    """``podium run``."""
    if recipe is None:
        return _which_recipe(cwd)
    directory = os.path.abspath(cwd or os.getcwd())
    person = at_terminal() and not json
    request: protocol.RunStart = {
        "recipe": recipe,
        "working_directory": directory,
        "on_question": on_question or ("ask" if person else "wait"),
        "session_id": session,
        "params": parse_params(params),
        "agent": agent,
        "model": model,
        "script": script and whole_path(script),
        "worktree": worktree,
        "anyway": anyway,
    }
    request = present(request)
    connection, started = _started(request, person)
    run_id = str(started["run_id"])
    if detach:
        waiting = [f"It waits for you: {answer_command(one)}" for one in started["questions"]]
        if waits_for_words(started):
            waiting.append(f"It waits for your words: {say_command(started)}")
        return _detached(run_id, started, json, waiting)
    again = _again(request, on_question)
    asking = person and request["on_question"] == "ask"
    queued = started.get("status") == "queued"
    if queued and json:
        text.tell("podium: queued until another agent is done.")
    return _follow_run(connection, run_id, json, again, asking, queued)


def _started(request: protocol.RunStart, person: bool) -> tuple[Connection, protocol.Run]:
    """Start a run; ask a person for missing input or for the confirmation that the daemon wants."""
    while True:
        try:
            return follow.start_run(request)
        except Refusal as refusal:
            if not (person and _put_right(request, refusal)):
                raise


def _put_right(request: protocol.RunStart, refusal: Refusal) -> bool:
    """Ask for what was missing; whether it is there now."""
    missing, given = refusal.data.get("missing"), request.get("params") or {}
    if missing and not str(given.get(missing, "")).strip():
        text.emit(f"{text.fold(missing)}? ")
        answer = sys.stdin.readline().strip()
        request["params"] = {**given, missing: answer}
        return bool(answer)
    if refusal.data.get("what") != "unusual-place" or request.get("anyway"):
        return False
    text.emit(f"{text.fold(stopped(refusal.message))}\nStart it there anyway? [y/N] ")
    request["anyway"] = sys.stdin.readline().strip().casefold() in ("y", "yes")
    return bool(request["anyway"])


def _which_recipe(cwd: str | None) -> int:
    """List the recipes, as none was named, and raise the error that one is needed."""
    from podium.commands.recipes import list_recipes

    list_recipes(cwd, json=False)
    raise Failure("'podium run' needs one of these: 'podium run RECIPE'.", USAGE)


def attach(run_id: str | None, json: bool) -> int:
    """``podium attach``: what happened so far, then live to the end."""
    from podium.commands.latest import run_meant

    run_id, connection = run_meant(run_id), Connection()
    run: protocol.Run | None = None
    with suppress(Refusal):  # what follows says the same
        run = connection.call("runs.get", {"run_id": run_id})
    return _follow_run(connection, run_id, json, "", at_terminal() and not json, run=run)


def _follow_run(
    connection: Connection,
    run_id: str,
    json: bool,
    again: str,
    asking: bool,
    queued: bool = False,
    run: protocol.Run | None = None,
) -> int:
    def following() -> int:
        screen = Screen(sys.stdout)
        talker = ConversationAsker(screen)
        view: follow.View = (
            follow.JsonView() if json else Narrator(screen, again, asking, talker.said, queued, run)
        )
        feed = follow.RunFeed(connection, run_id)
        ended = follow.follow(feed, view, talker if asking else None)
        return follow.exit_code(ended)

    return follow.guarded(run_id, following)


def prompt(
    words: str,
    session: str | None,
    cwd: str | None,
    agent: str | None,
    model: str | None,
    script: str | None,
    files: Sequence[str],
    detach: bool,
    if_busy: Literal["refuse", "queue", "steer"] | None,
    fork: bool,
    take_over: bool,
    allow_all: bool,
    json: bool,
) -> int:
    """``podium prompt``: one turn; the answer goes to standard output, all else to the other."""
    if session is None and (fork or take_over):
        option = "--fork" if fork else "--take-over"
        raise Failure(f"{option} needs '--session ID', the session that it is about.", USAGE)
    said, here = given_text(words), cwd is not None or session is None
    request = _own_prompt(said, script, files)
    request |= {"session_id": session, "agent": agent, "model": model}
    request |= {"working_directory": os.path.abspath(cwd or os.getcwd()) if here else None}
    request |= {"fork": fork, "take_over": take_over}
    request |= {"permission_mode": "allow-all" if allow_all else None}
    return _follow_prompt(present(request), if_busy, detach, json)


def _follow_prompt(
    request: protocol.Prompt,
    if_busy: Literal["refuse", "queue", "steer"] | None,
    detach: bool,
    json: bool,
) -> int:
    said = request["text"]
    if if_busy is not None:
        request["if_busy"] = if_busy
    try:
        connection, started = follow.start_prompt(request)
    except Refusal as refusal:
        refusal.queue = "--if-busy queue"
        raise
    run_id = str(started["run_id"])
    if detach:
        return _detached(run_id, started, json)
    carried, turn_id = Carried(started), started.get("turn_id")
    steered = if_busy == "steer" or started.get("delivery") == "steered"

    def own_end(event: protocol.Event) -> bool:
        carried.event(event)
        ended = event["data"].get("turn_id") == turn_id
        return steered and event.get("type") == "turn.ended" and ended

    def following() -> int:
        from podium.render.answer import AnswerView, ConversationAnswerView

        asking, talks = at_terminal() and not json, started.get("delivery") == "phase"
        screen = Screen(sys.stdout)
        told = (ConversationAnswerView if talks else AnswerView)(started, said, asking, screen)
        view: follow.View = follow.JsonView() if json else told
        here = screen if text.is_terminal(sys.stderr) else Screen(sys.stderr)
        asker = (TurnAsker if talks else Asker)(here) if asking else None
        ended = follow.follow(
            follow.RunFeed(connection, run_id),
            view,
            asker,
            own_end,
            phase=ConversationState(talks=talks),
            stop_at_person=lambda: talks and carried.answered,
        )
        return 0 if ended is None else follow.exit_code(ended)

    return follow.guarded(run_id, following)


def _own_prompt(said: str, script: str | None, files: Sequence[str]) -> protocol.Prompt:
    """Build a prompt with the files that it names, for a daemon in another directory."""
    return {
        "text": said,
        "script": script and whole_path(script),
        "files": [whole_path(file) for file in files] or None,
    }


def _detached(run_id: str, started: object, json: bool, waiting: Sequence[str] = ()) -> int:
    """Name the run that goes on without us, and what it waits for."""
    if json:
        return text.emit_json(started)
    text.emit(f"{text.fold(run_id)}\n")
    for line in waiting:
        text.tell(f"podium: {line}")
    if text.is_terminal(sys.stderr):
        text.tell(f"Follow it with 'podium attach {text.short(run_id)}'.")
    return 0


def _again(request: protocol.RunStart, on_question: str | None) -> str:
    words = ["podium", "run", request["recipe"], "--cwd", request["working_directory"]]
    for name, value in (request.get("params") or {}).items():
        words += ["-p", f"{name}={value}"]
    options = {
        "--agent": request.get("agent"),
        "--model": request.get("model"),
        "--script": request.get("script"),
        "--session": request.get("session_id"),
    }
    words += [word for option, value in options.items() if value for word in (option, value)]
    words += ["--worktree"] if request.get("worktree") else []
    words += ["--anyway"] if request.get("anyway") else []
    words += ["--on-question", on_question] if on_question is not None else []
    return shlex.join(words)
