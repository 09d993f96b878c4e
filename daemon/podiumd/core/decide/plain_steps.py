"""Steps without an agent: a command that the daemon runs, a question that a person answers."""

from __future__ import annotations

import shlex

from podiumd.core.decide import conversation, decision, edges, limits
from podiumd.core.decide.decision import CHOICES, Decision
from podiumd.core.prompts import prompts
from podiumd.core.recipe.model import Step
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.state import Claim, Question, RunState

COMMAND_MINUTES = 60.0
"""How long a command may take whose step says nothing else."""

SHELL = ("/bin/sh", "-c")

CHOICE = "choice"
"""Subject of a gate step's question."""


def first_move(state: RunState, step: Step) -> f.Move | None:
    """Return what is to be done first in a step; ``None``: a person has the first word."""
    if step.kind == "talk":
        return conversation.first_move(state, step)
    if step.kind == "command":
        return f.Move(kind="command")
    if step.kind == "gate":
        return f.Move(kind="gate")
    return f.Move(kind="turn", purpose="step")


def ask(d: Decision, step: Step) -> None:
    """Ask the question of a gate step; its answers are the step's outcomes."""
    labels = dict(CHOICES["gate"])
    choices = tuple((choice, labels.get(choice, choice)) for choice in step.choices)
    d.ask("gate", prompts.fill(d.state, step.ask or ""), about=CHOICE, choices=choices)


def chosen(d: Decision, step: Step, command: c.Answer) -> None:
    """Take a person's answer to the question of a gate step."""
    claim = Claim(outcome=command.answer, source="person", detail=command.note or "")
    edges.take(d, edges.edge_for(step, command.answer), claim)


def intend_command(d: Decision) -> None:
    """Decide to run the step's command, unless a limit is reached."""
    state, step = d.state, d.state.current
    assert step is not None and state.step is not None
    if limits.spent(d):
        return
    seconds = (step.timeout_minutes or COMMAND_MINUTES) * 60.0
    left = limits.seconds_left(state)
    d.emit(
        f.CommandIntended(
            step=state.step,
            visit=state.visits[state.step],
            run=command_line(state, step),
            timeout_seconds=seconds if left is None else min(seconds, left),
            next=f.Move(kind="run"),
        )
    )


def command_line(state: RunState, step: Step) -> tuple[str, ...]:
    """Build the command of a step as an argument list; values never change how many there are."""
    if step.shell is not None:
        return (*SHELL, step.shell)
    return prompts.fill_arguments(state, step.run)


def command_over(d: Decision, command: c.ReportCommandEnd) -> None:
    """Take the exit status of the step's command as its outcome."""
    state, step = d.state, d.state.current
    assert step is not None and state.step is not None
    run = command_line(state, step)
    d.emit(
        f.CommandEnded(
            step=state.step,
            visit=state.visits[state.step],
            run=run,
            passed=command.passed,
            exit_status=command.exit_status,
            seconds=command.seconds,
            tail=command.tail,
            log=command.log,
            tree=command.tree,
        )
    )
    outcome = "passed" if command.passed else "failed"
    failure = None if command.passed else how_it_failed(run, command.exit_status)
    claim = Claim(outcome=outcome, source="command", description=failure, detail=command.tail)
    edges.leave(d, edges.edge_for(step, outcome), claim)
    decision.hold(d)


def how_it_failed(run: tuple[str, ...], exit_status: int | None) -> str:
    """Describe a command that failed, and how, in a line."""
    how = "did not end" if exit_status is None else f"exit status {exit_status}"
    return f"{shlex.join(run)}: {how}"


def cut_off_question(state: RunState, ended: tuple[str, ...] = ()) -> tuple[str, str] | None:
    """Return the question before a command that was cut off runs again, and its detail.

    Such a command must not be repeated unseen: that its end is not recorded does not show how far
    it came. ``None``: run it. ``ended``: the processes of it that a start has found alive, and
    ended.
    """
    step = state.current
    if step is None or not step.irreversible or state.next != f.Move(kind="run"):
        return None
    text = (
        f"The command of step '{state.step}' was cut off and must not be repeated unseen. Nothing "
        "of it runs any more; whether it had done its work is not known."
    )
    left = [f"still ran, and was ended at the daemon's start: {line}" for line in ended]
    return text, "\n".join([shlex.join(command_line(state, step)), *left])


def resume(d: Decision) -> None:
    """Go on after a pause; before a command that was interrupted perhaps ask."""
    paused = d.state.paused
    decision.resume(d)
    question = cut_off_question(d.state) if paused and d.state.ready else None
    if question is not None:
        d.ask("recover", question[0], about="irreversible", detail=question[1])


def accept_command(d: Decision, question: Question) -> None:
    """Accept as passed a command that was cut off: a person finds its result good enough."""
    step = d.state.current
    if question.about != "irreversible" or step is None or d.state.next != f.Move(kind="run"):
        return
    claim = Claim(outcome="passed", source="person", detail="")
    edges.take(d, edges.edge_for(step, "passed"), claim)
