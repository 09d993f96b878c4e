"""The rules between the tables of a recipe: targets, outcomes, exits and variables fit together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from podiumd.core.findings import Notes, nearest
from podiumd.core.recipe.exits import is_known, is_reserved
from podiumd.core.recipe.fields import is_name
from podiumd.core.recipe.model import CHECKS_FAILED, DECLINED, OTHER, RESTART, Edge, Recipe, Step
from podiumd.core.recipe.parts import is_chosen
from podiumd.core.recipe.served_tools import served
from podiumd.core.recipe.template import variables
from podiumd.core.toml_lines import Path


class PromptSource(Protocol):
    """Says which prompt file the prompt of a step came from."""

    prompt_file_of: dict[str, str]


BUILT_IN: Final = "podium:"
#: The checks that a hook may name in the place of a program.
BUILT_IN_HOOKS: Final = ("podium:saved", "podium:exists", "podium:clean-tree", "podium:write")

_TEXT_FIELDS: Final = ("agent", "gate", "ask", "system", "opening")


def check_rules(recipe: Recipe, notes: Notes, source: PromptSource) -> None:
    """Note every fault that shows only between tables."""
    if recipe.initial and recipe.initial not in recipe.steps:
        hint = nearest(recipe.initial, recipe.steps)
        message = (
            f"initial step '{recipe.initial}' does not exist; {hint}. Name the step that the "
            "recipe begins with"
        )
        notes.add("bad-initial", ("initial",), message)
    known = {
        *recipe.params,
        *(f"ctx.{key}" for key in recipe.context),
        *(f"last.{name}.detail" for name in recipe.steps),
    }
    for name, step in recipe.steps.items():
        _check_outcomes(name, step, notes)
        for outcome, edge in step.on.items():
            _check_edge(("steps", name, "on", outcome), edge, recipe, notes)
        _check_variables(name, step, known, notes, source)
        _check_agent(("steps", name, "agent"), step, recipe, known, notes)
        if step.kind == "talk":
            _check_conversation(("steps", name), step, recipe, notes)


def _check_outcomes(name: str, step: Step, notes: Notes) -> None:
    """Check that each outcome has an edge and each edge an outcome."""
    path: Path = ("steps", name)
    optional = _optional_outcomes(step)
    for outcome in step.outcomes:
        if outcome not in step.on and outcome not in optional:
            notes.add(
                "unhandled-outcome",
                path,
                f"step '{name}' can end with '{outcome}' but says nothing about it: add "
                f"'{outcome}' to [steps.{name}.on]",
            )
    handles = step.on if step.kind == "call" else step.outcomes
    if step.kind in ("turn", "call") and not handles:
        notes.add(
            "missing-key",
            path,
            f"[steps.{name}] needs the key 'on': write where each outcome leads, such as "
            f'[steps.{name}.on] with complete = {{ to = "STEP" }}',
        )
    possible = {*step.outcomes, *optional}
    for outcome in step.on:
        if outcome not in possible:
            notes.add("dead-handler", (*path, "on", outcome), _dead(name, outcome, possible))


def _optional_outcomes(step: Step) -> set[str]:
    """Return the outcomes whose edges a step may leave out: built-in edges take them."""
    optional = set()
    if step.kind == "turn":
        optional.add(OTHER)
    if step.checks or step.proved or step.kind == "call":
        optional.add(CHECKS_FAILED)
    if step.gate is not None:
        optional.add(DECLINED)
    if step.kind == "gate" and "no" in step.choices:
        optional |= {"no", DECLINED}
    return optional


def _dead(name: str, outcome: str, possible: set[str]) -> str:
    """Say why an edge can never be taken."""
    never = f"step '{name}' can never end with '{outcome}'"
    if outcome == CHECKS_FAILED:
        return f"{never}: it has no checks, and claims nothing; add 'checks' or remove the edge"
    if outcome == DECLINED:
        return f"{never}: it has no gate; add 'gate' or remove the edge"
    return f"{never}; {nearest(outcome, sorted(possible))}. Declare it or remove the edge"


def _check_conversation(path: Path, step: Step, recipe: Recipe, notes: Notes) -> None:
    """Check that a phase can be left by its own tools, and that its hooks exist."""
    if step.final and step.auto:
        message = "nothing leads on from this phase, so it cannot go on by itself; remove 'auto'"
        notes.add("bad-value", (*path, "auto"), message)
    if "transition" not in served(recipe, step) and not step.final:
        message = "only the tool 'transition' leads on from here: add \"transition\" to the list"
        notes.add("bad-value", (*path, "tools"), message)
    for index, hook in enumerate(step.hooks):
        where = (*path, "hooks", index, "run")
        name, *arguments = hook.run or ("",)
        if not name.startswith(BUILT_IN):
            continue
        if name not in BUILT_IN_HOOKS:
            hint = nearest(name, BUILT_IN_HOOKS)
            notes.add("bad-value", where, f"there is no built-in check '{name[:80]}'; {hint}")
        for key in arguments if name == "podium:saved" else ():
            if key not in recipe.context:
                hint = nearest(key, recipe.context)
                message = f"'{key}' is no key of [context]; {hint}. Correct it or declare it there"
                notes.add("unknown-variable", where, message)


def _check_agent(path: Path, step: Step, recipe: Recipe, known: set[str], notes: Notes) -> None:
    """Check that a step's agent is a name, or the whole of a parameter that names one."""
    agent = step.agent or ""
    if is_chosen(recipe, agent) or not any(name in known for name, _ in variables(agent)):
        return
    message = (
        f"'{agent[:80]}' names no agent: expected a name, or nothing but a parameter with "
        'type = "agent", such as agent = "{{reviewer}}"'
    )
    notes.add("bad-value", path, message)


def _check_edge(path: Path, edge: Edge, recipe: Recipe, notes: Notes) -> None:
    """Check that an edge leads to a step that exists, or to an exit whose class is known."""
    if edge.to is not None and edge.to != RESTART and edge.to not in recipe.steps:
        notes.add(
            "unknown-target",
            (*path, "to"),
            f"step '{edge.to}' does not exist; {nearest(edge.to, (*recipe.steps, RESTART))}. "
            "Correct the name or write the step",
        )
    for key in edge.requires:
        if key not in recipe.context:
            hint = nearest(key, recipe.context)
            message = f"'{key}' is no key of [context]; {hint}. Correct it or declare it there"
            notes.add("unknown-variable", (*path, "requires"), message)
    if edge.exit is None:
        return
    where = (*path, "exit")
    if is_reserved(edge.exit):
        message = (
            f"'{edge.exit}' is said by the daemon itself when a limit is reached or something "
            "failed; choose another reason"
        )
        notes.add("reserved-reason", where, message)
    elif not is_name(edge.exit):
        message = (
            f"exit reason '{edge.exit[:80]}': expected lower-case words joined by hyphens, "
            "such as 'changes-committed'"
        )
        notes.add("bad-name", where, message)
    elif edge.class_ is None and not is_known(edge.exit):
        message = (
            f"nothing says whether '{edge.exit}' is a success: add class = \"completed\", "
            '"needs-user", "blocked" or "error"'
        )
        notes.add("unclassified-exit", where, message)


def _check_variables(
    name: str, step: Step, known: set[str], notes: Notes, source: PromptSource
) -> None:
    """Check that each ``{{name}}`` is a parameter, a context key, or the detail of a step."""
    file = source.prompt_file_of.get(name)
    for path, text in templates(name, step):
        in_file = file is not None and path[-1] == "prompt"
        unknown: dict[str, int] = {}
        for variable, offset in variables(text):
            if variable not in known:
                unknown.setdefault(variable, offset)
        for variable, offset in unknown.items():
            hint = nearest(variable, sorted(known))
            message = (
                f"'{{{{{variable}}}}}' is no parameter, no ctx.KEY of [context] and no "
                f"last.STEP.detail of a step; {hint}. Correct the name or declare it in [params]"
            )
            line = offset + (1 if in_file else notes.lines.of_value(path))
            notes.add(
                "unknown-variable", path, message, line=line, file=(file or "") if in_file else ""
            )
    if step.shell is not None and any(variable in known for variable, _ in variables(step.shell)):
        message = "'shell' takes no variables, they would be read as code; use run = [...]"
        notes.add("bad-value", ("steps", name, "shell"), message)


def templates(name: str, step: Step) -> Iterator[tuple[Path, str]]:
    """Walk over the texts of a step into which values are filled, each with its key."""
    path: Path = ("steps", name)
    yield (*path, "prompt"), step.prompt
    for field in _TEXT_FIELDS:
        yield (*path, field), getattr(step, field) or ""
    for argument in step.run:
        yield (*path, "run"), argument
    for index, check in enumerate(step.checks):
        for argument in check.run:
            yield (*path, "checks", index, "run"), argument
    for param, value in step.params.items():
        yield (*path, "params", param), str(value)
