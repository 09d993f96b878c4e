"""Reading ``[steps.NAME]``: the kind of a step follows from its keys, its keys from its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podiumd.core.findings import Notes, dotted
from podiumd.core.recipe import CHECKS_FAILED, DECLINED, OTHER, Check, Edge, Hook, Kind, Step
from podiumd.core.recipe_fields import (
    ARGV,
    FLAG,
    NAMES,
    NUMBER,
    TEXT,
    TEXTS,
    TOOLS,
    TRUE,
    Table,
    is_name,
    one_of,
)

_COMMON: Final = ("on", "gate", "commits", "irreversible")
_AGENT: Final = ("session", "agent", "model", "tools", "allow", "permission_mode")
_KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "turn": (
        *("prompt", "prompt_file", "outcomes", "checks", "timeout_minutes"),
        *_COMMON,
        *_AGENT,
    ),
    "talk": ("talk", "system", "opening", "auto", "hooks", "timeout_minutes", *_COMMON, *_AGENT),
    "command": ("run", "shell", "timeout_minutes", *_COMMON),
    "gate": ("ask", "choices", "on"),
    "call": ("recipe", "params", "outcomes", *_COMMON),
}
# The key that makes a step what it is.
_MARKS: Final[dict[str, Kind]] = {
    "prompt": "turn",
    "prompt_file": "turn",
    "talk": "talk",
    "run": "command",
    "shell": "command",
    "ask": "gate",
    "recipe": "call",
}
_EDGE_CLASS: Final = one_of("completed", "needs-user", "blocked", "error")


class StepReader:
    """Reads all steps of one recipe; ``prompt_files`` are the texts of the files it named."""

    def __init__(self, top: Table, read_prompt: Callable[[str], str]) -> None:
        self.notes: Notes = top.notes
        self.prompt_files: dict[str, str] = {}
        self.prompt_file_of: dict[str, str] = {}
        self._read_prompt = read_prompt
        if not top.has("steps"):
            top.need("steps", TEXT, None, "at least one step, [steps.NAME]")
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
            marks = [mark for mark in _MARKS if isinstance(data, dict) and mark in data]
            kind = _MARKS[marks[0]] if marks else "turn"
            table = self._table.table(name, _KEYS[kind])
            if isinstance(data, dict):
                self._check_marks(table, marks)
            steps[name] = self._step(name, kind, table)
        return steps

    def _check_marks(self, table: Table, marks: list[str]) -> None:
        """A step has exactly one of the keys that say what it does."""
        where = f"[{dotted(table.path)}]"
        choices = "prompt, prompt_file, talk, run, shell, ask, recipe"
        if not marks:
            message = f"{where} does nothing: write one of the keys {choices}"
            self.notes.add("missing-key", table.path, message)
        for mark in marks[1:]:
            table.bad(mark, f"the step has '{marks[0]}' already; keep one of {choices}")

    def _step(self, name: str, kind: Kind, table: Table) -> Step:
        edges = self._edges(table, talk=kind == "talk")
        get = table.get
        return Step(
            kind=kind,
            prompt=self._prompt(name, table),
            session=get("session", one_of("same", "fresh", "fork"), "same"),
            agent=get("agent", TEXT),
            model=get("model", TEXT),
            tools=get("tools", TOOLS, "all"),
            allow=get("allow", TEXTS, ()),
            permission_mode=get("permission_mode", TEXT),
            timeout_minutes=get("timeout_minutes", NUMBER),
            outcomes=_outcomes(kind, table, edges),
            on=edges,
            checks=self._checks(table) if kind == "turn" else (),
            gate=get("gate", TEXT),
            commits=get("commits", FLAG, False),
            irreversible=get("irreversible", FLAG, False),
            run=get("run", ARGV, ()),
            shell=get("shell", TEXT),
            ask=get("ask", TEXT),
            choices=_choices(kind, table),
            recipe=get("recipe", TEXT),
            params=self._call_params(table),
            system=get("system", TEXT),
            opening=get("opening", TEXT),
            auto=get("auto", FLAG, False),
            hooks=self._hooks(table) if kind == "talk" else (),
        )

    def _prompt(self, name: str, table: Table) -> str:
        """Return the step's prompt, read from its file where it has one."""
        table.get("talk", TRUE)
        file = table.get("prompt_file", TEXT)
        if file is None:
            prompt: str = table.get("prompt", TEXT, "")
            return prompt
        try:
            text = self.prompt_files.get(file) or self._read_prompt(file)
        except (OSError, ValueError) as error:
            table.bad("prompt_file", f"the file cannot be used: {error}")
            return ""
        if not text.strip() or "\0" in text:
            table.bad("prompt_file", "expected a file with a prompt in it")
            return ""
        self.prompt_files[file] = text
        self.prompt_file_of[name] = file
        return text

    def _edges(self, table: Table, *, talk: bool) -> dict[str, Edge]:
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
            keys = ("to", "exit", "class", "message", *(("requires",) if talk else ()))
            edges[outcome] = self._edge(parent.table(outcome, keys))
        return edges

    def _edge(self, table: Table) -> Edge:
        """Read one edge: exactly one of ``to`` and ``exit``."""
        to, exit_ = table.get("to", TEXT), table.get("exit", TEXT)
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
            class_=table.get("class", _EDGE_CLASS),
            message=table.get("message", TEXT),
            requires=table.get("requires", TEXTS, ()),
        )

    def _checks(self, table: Table) -> tuple[Check, ...]:
        checks = []
        for member in table.tables("checks", ("run", "timeout_seconds")):
            run = member.need("run", ARGV, (), 'the command, such as run = ["make", "test"]')
            seconds = member.get("timeout_seconds", NUMBER, 600.0)
            checks.append(Check(run=run, timeout_seconds=seconds))
        return tuple(checks)

    def _hooks(self, table: Table) -> tuple[Hook, ...]:
        hooks = []
        events = one_of("before-tool", "after-tool", "turn-end")
        for member in table.tables("hooks", ("event", "match", "run")):
            event = member.need("event", events, "turn-end", 'when, such as "before-tool"')
            run = member.need("run", ARGV, (), 'the command, such as run = ["./guard"]')
            hooks.append(Hook(event=event, run=run, match=member.get("match", TEXT)))
        return tuple(hooks)

    def _call_params(self, table: Table) -> dict[str, str | int | bool]:
        data = table.mapping("params") if table.has("params") else {}
        values: dict[str, str | int | bool] = {}
        for name, value in data.items():
            if isinstance(value, (str, int)):
                values[name] = value
            else:
                parent = Table(self.notes, data, (*table.path, "params"), tuple(data))
                parent.bad(name, "expected a text, a whole number, true or false")
        return values


def _choices(kind: Kind, table: Table) -> tuple[str, ...]:
    """Return what a gate step can be answered with."""
    choices: tuple[str, ...] = table.get("choices", NAMES, ("yes", "no"))
    return choices if kind == "gate" else ()


def _outcomes(kind: Kind, table: Table, edges: dict[str, Any]) -> tuple[str, ...]:
    """Return the outcomes in declared order: those of the kind, else declared, else the edges."""
    if kind == "command":
        return ("passed", "failed")
    if kind == "gate":
        return _choices(kind, table)
    never = (CHECKS_FAILED, DECLINED, *((OTHER,) if kind == "turn" else ()))
    from_edges = tuple(name for name in edges if name not in never)
    declared: tuple[str, ...] = table.get("outcomes", NAMES, from_edges)
    return declared
