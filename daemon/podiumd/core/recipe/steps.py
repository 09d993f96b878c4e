"""Reading ``[steps.NAME]``: the kind of a step follows from its keys, its keys from its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podiumd.core.findings import Notes, dotted
from podiumd.core.recipe.exits import claim_of, classify
from podiumd.core.recipe.fields import SCALAR, TABLES, Table, is_name
from podiumd.core.recipe.format import (
    CHECK_FIELDS,
    EDGE_FIELDS,
    HOOK_FIELDS,
    MARKS,
    STEP_FIELDS,
    STEP_KEYS,
    edge_keys,
)
from podiumd.core.recipe.model import CHECKS_FAILED, DECLINED, OTHER, Check, Edge, Hook, Kind, Step
from podiumd.core.structs import replace

#: How long the prompt files of all steps may be together, in characters: a recipe is stored whole
#: with each of its runs, and a file that every step names counts as often.
MOST_PROMPT_TEXT: Final = 1024 * 1024


class StepReader:
    """Reads all steps of one recipe; ``prompt_files`` are the texts of the files it named."""

    def __init__(self, top: Table, read_prompt: Callable[[str], str]) -> None:
        self.notes: Notes = top.notes
        self.prompt_files: dict[str, str] = {}
        self.prompt_file_of: dict[str, str] = {}
        self._read_prompt = read_prompt
        self._prompt_text = 0
        if not top.has("steps"):
            top.need("steps", TABLES, None, "at least one step, [steps.NAME]")
        names = tuple(top.mapping("steps"))
        self._table = Table(top.notes, top.mapping("steps"), ("steps",), names)

    def read(self) -> dict[str, Step]:
        """Read the steps in the file's order."""
        steps: dict[str, Step] = {}
        for name, data in self._table.data.items():
            if not is_name(name):
                self.notes.add(
                    "bad-name",
                    ("steps", name),
                    f"step '{name[:80]}': expected lower-case words joined by hyphens, at most "
                    "64 characters, such as 'code-review'",
                )
            marks = [mark for mark in MARKS if isinstance(data, dict) and mark in data]
            kind = MARKS[marks[0]] if marks else "turn"
            # A second kind's key is no unknown one: it is noted as one too many.
            table = self._table.table(name, (*STEP_KEYS[kind], *marks))
            if isinstance(data, dict):
                self._check_marks(table, marks)
            steps[name] = self._step(name, kind, table)
        return steps

    def _check_marks(self, table: Table, marks: list[str]) -> None:
        """Check that a step has exactly one of the keys that define its kind."""
        where = f"[{dotted(table.path)}]"
        choices = ", ".join(MARKS)
        if not marks:
            message = f"{where} does nothing: write one of the keys {choices}"
            self.notes.add("missing-key", table.path, message)
        for mark in marks[1:]:
            table.bad(mark, f"the step has '{marks[0]}' already; keep one of {choices}")

    def _step(self, name: str, kind: Kind, table: Table) -> Step:
        commits = table.get("commits", STEP_FIELDS["commits"], False)
        edges = self._edges(kind, table, commits=commits)

        def get(key: str, default: Any = None) -> Any:
            return table.get(key, STEP_FIELDS[key], default)

        return Step(
            kind=kind,
            prompt=self._prompt(name, table),
            session=get("session", "same"),
            agent=get("agent"),
            needs=get("needs", ()),
            model=get("model"),
            tools=get("tools", "all"),
            allow=get("allow", ()),
            permission_mode=get("permission_mode"),
            timeout_minutes=get("timeout_minutes"),
            outcomes=_outcomes(kind, table, edges),
            on=edges,
            checks=self._checks(table) if kind == "turn" else (),
            gate=get("gate"),
            commits=commits,
            irreversible=get("irreversible", False),
            run=get("run", ()),
            shell=get("shell"),
            ask=get("ask"),
            choices=_choices(kind, table),
            recipe=get("recipe"),
            params=self._call_params(table),
            system=get("system"),
            opening=get("opening"),
            auto=get("auto", False),
            hooks=self._hooks(table) if kind == "talk" else (),
        )

    def _prompt(self, name: str, table: Table) -> str:
        """Return the step's prompt, read from its file where it has one."""
        table.get("talk", STEP_FIELDS["talk"])
        file = table.get("prompt_file", STEP_FIELDS["prompt_file"])
        if file is None:
            prompt: str = table.get("prompt", STEP_FIELDS["prompt"], "")
            return prompt
        try:
            text = self.prompt_files.get(file) or self._read_prompt(file)
        except (OSError, ValueError) as error:
            table.bad("prompt_file", f"the file cannot be used: {error}")
            return ""
        if not text.strip() or "\0" in text:
            table.bad("prompt_file", "expected a file with a prompt in it")
            return ""
        self._prompt_text += len(text)
        if self._prompt_text > MOST_PROMPT_TEXT:
            table.bad("prompt_file", "the prompt files of all steps are over 1 MiB; shorten them")
            return ""
        self.prompt_files[file] = text
        self.prompt_file_of[name] = file
        return text

    def _edges(self, kind: Kind, table: Table, *, commits: bool) -> dict[str, Edge]:
        edges: dict[str, Edge] = {}
        on = table.mapping("on") if table.has("on") else {}
        parent = Table(self.notes, on, (*table.path, "on"), tuple(on))
        for outcome in on:
            if not is_name(outcome):
                self.notes.add(
                    "bad-name",
                    (*parent.path, outcome),
                    f"outcome '{outcome[:80]}': expected lower-case words joined by hyphens",
                )
            edge = self._edge(parent.table(outcome, edge_keys(kind)))
            # A person's choice is not the word of an agent.
            edges[outcome] = edge if kind in ("gate", "call") else claiming(edge, commits=commits)
        return edges

    def _edge(self, table: Table) -> Edge:
        """Read one edge: exactly one of ``to`` and ``exit``."""
        to, exit_, class_, message, requires, claims = (
            table.get(key, expected) for key, expected in EDGE_FIELDS.items()
        )
        if not table.has("to") and not table.has("exit"):
            table.notes.add(
                "missing-key",
                table.path,
                f'{dotted(table.path)} leads nowhere: write {{ to = "STEP" }} or '
                '{ exit = "REASON" }',
            )
        elif table.has("to"):
            for key in ("exit", "class", "message"):
                if table.has(key):
                    table.bad(key, "an edge with 'to' goes on, so it has no exit; remove one")
        return Edge(
            to=to,
            exit=exit_,
            class_=class_,
            message=message,
            requires=requires or (),
            claims=claims,
        )

    def _checks(self, table: Table) -> tuple[Check, ...]:
        checks = []
        for member in table.tables("checks", tuple(CHECK_FIELDS)):
            run = member.need(
                "run", CHECK_FIELDS["run"], (), 'the command, such as run = ["make", "test"]'
            )
            seconds = member.get("timeout_seconds", CHECK_FIELDS["timeout_seconds"], 600.0)
            checks.append(Check(run=run, timeout_seconds=seconds))
        return tuple(checks)

    def _hooks(self, table: Table) -> tuple[Hook, ...]:
        hooks = []
        for member in table.tables("hooks", tuple(HOOK_FIELDS)):
            event, match, run = HOOK_FIELDS.values()
            hooks.append(
                Hook(
                    event=member.need("event", event, "turn-end", 'when, such as "before-tool"'),
                    run=member.need("run", run, (), 'the command, such as run = ["./guard"]'),
                    match=member.get("match", match),
                )
            )
        return tuple(hooks)

    def _call_params(self, table: Table) -> dict[str, str | int | bool]:
        data = table.mapping("params") if table.has("params") else {}
        values: dict[str, str | int | bool] = {}
        for name, value in data.items():
            if SCALAR.holds(value):
                values[name] = value
            else:
                parent = Table(self.notes, data, (*table.path, "params"), tuple(data))
                parent.bad(name, f"expected {SCALAR.words}")
        return values


def claiming(edge: Edge, *, commits: bool) -> Edge:
    """Return the edge with what it claims where the recipe does not say: what its reason says, and
    that nothing is left over where a step that ``commits`` ends the run well."""
    if edge.claims is not None or edge.exit is None:
        return edge
    claims = claim_of(edge.exit)
    if claims is None and commits and classify(edge.exit, edge.class_).class_ == "completed":
        claims = "clean"
    return replace(edge, claims=claims)


def _choices(kind: Kind, table: Table) -> tuple[str, ...]:
    """Return what a gate step can be answered with."""
    choices: tuple[str, ...] = table.get("choices", STEP_FIELDS["choices"], ("yes", "no"))
    return choices if kind == "gate" else ()


def _outcomes(kind: Kind, table: Table, edges: dict[str, Any]) -> tuple[str, ...]:
    """Return the outcomes in declared order: those of the kind, else declared, else the edges."""
    if kind == "command":
        return ("passed", "failed")
    if kind == "gate":
        return _choices(kind, table)
    never = (CHECKS_FAILED, DECLINED, *((OTHER,) if kind == "turn" else ()))
    from_edges = tuple(name for name in edges if name not in never)
    declared: tuple[str, ...] = table.get("outcomes", STEP_FIELDS["outcomes"], from_edges)
    return declared
