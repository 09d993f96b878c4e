"""Check of the steps' demands against the capabilities of their agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from podiumd.core.findings import Notes, nearest
from podiumd.core.recipe.format import NEEDS
from podiumd.core.recipe.model import Recipe, Step
from podiumd.core.recipe.parts import PROMPTING, agents_of, chosen_by, doubled
from podiumd.core.structs import replace
from podiumd.core.toml_lines import Path

ExactlyOnce = Literal["agent", "facts", "mark", "weak"]
"""What makes sure that a prompt reaches the model once, whenever the daemon is killed.

``agent``: the agent's own record names our prompt, or it takes it once by its id. ``facts``: the
turn is played in the daemon, which stores each step first. ``mark``: that a prompt has arrived is
known, what came of it only from the spool (``podiumd.drivers.steps``). ``weak``: neither, so after
a crash in mid-prompt a person is asked.
"""

OwnTools = Literal["dialect", "inside", "mcp", "none"]
"""How an agent reaches the tools that Podium serves.

``dialect``: by the protocol that the turn is spoken in. ``inside``: it is played in the daemon.
``mcp``: by a program that it starts. ``none``: only what it runs itself can (``podium mcp``).
"""

Images = Literal["none", "inline", "path"]
"""How an agent gets the images of a prompt: not at all, beside its words in one line, or as files
that it reads itself."""

Usage = Literal["cost", "tokens", "none"]
"""What an agent reports of a turn's use: its cost (and tokens, where it knows them), tokens alone,
or nothing."""

_NEVER_ASKS: Final = "never asks before it uses a tool"


class Capabilities(msgspec.Struct, frozen=True):
    """Capabilities of a configured agent; a recipe's demands are checked against them before a run
    starts.

    ``permission_modes`` are the agent's own words for how much it may do unasked. ``hooks``: it
    asks before each tool and reports after it; ``tool_lists``: a step may say by names which tools
    there are, or that there are none; ``deny_words``: its model is given the words of a refusal;
    ``system_text``: its system text may be another in
    each turn; ``compacts``: it sums up what no longer fits by itself, and need not be asked to;
    ``names_sessions``: it gives its sessions ids of its own; ``unasked`` are the tools that it uses
    without asking, in whichever mode it asks about others.
    """

    structured_output: bool = False
    approvals: bool = False
    interrupt: bool = False
    steer: bool = False
    resume: bool = False
    fork: bool = False
    read_only_tools: bool = False
    tool_lists: bool = False
    deny_words: bool = False
    survives_daemon: bool = False
    hooks: bool = False
    system_text: bool = False
    compacts: bool = False
    names_sessions: bool = False
    permission_modes: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    exactly_once: ExactlyOnce = "weak"
    own_tools: OwnTools = "none"
    usage: Usage = "none"
    images: Images = "none"


class Described(msgspec.Struct, frozen=True):
    """Description of an agent by itself, when it was last greeted, in its ``version`` of then.

    ``lacks``: capabilities that it reported as missing, of those that may be missing: to go on with
    sessions, and to copy them. ``modes`` are all that it has, if it told them.
    """

    version: str = ""
    lacks: tuple[Literal["fork", "resume"], ...] = ()
    modes: tuple[str, ...] = ()

    def applied(self, can: Capabilities) -> Capabilities:
        """Return what is declared of the agent, without what it said that it cannot."""
        return replace(
            can,
            resume=can.resume and "resume" not in self.lacks,
            fork=can.fork and "fork" not in self.lacks,
            permission_modes=self.modes or can.permission_modes,
        )


class KnownAgents(msgspec.Struct, frozen=True, kw_only=True):
    """The agents against which a recipe is checked.

    ``can`` is what is declared of each by its name, ``described`` what it said of itself. ``own``
    takes the steps that name none. ``absent`` are those that cannot be used on this machine, each
    with the reason and what to do. ``ask_settings``: the setting without which an agent is not
    known to ask, of those that have one.
    """

    can: Mapping[str, Capabilities]
    own: str = ""
    described: Mapping[str, Described] = {}
    absent: Mapping[str, str] = {}
    ask_settings: Mapping[str, str] = {}


def check_agents(recipe: Recipe, notes: Notes, agents: KnownAgents) -> None:
    """Note each step that demands what its agent cannot do, and each agent that is not here.

    A parameter stands for the agent that it names by default. A demand of a step in a called recipe
    is reported at the step that calls.
    """
    defaults = {n: p.default for n, p in recipe.params.items() if p.default is not None}
    chosen = agents_of(recipe, defaults, agents.own)
    first: tuple[str, str] | None = None
    for full_name, step in recipe.steps.items():
        if step.kind not in PROMPTING:
            continue
        name, by = full_name.partition(".")[0], chosen_by(step.agent)
        agent = (step.agent or agents.own) if by is None else chosen.get(by)
        if agent is None:
            continue
        place: Path = ("steps", name, "agent") if by is None else ("params", by, "default")
        _check_presence(place, step, agent, agents, notes)
        for lack in lacks_of(recipe, step, agent, agents):
            remedies = filter(None, (lack.remedy, "give the step another agent"))
            words = f"agent '{agent}' {lack.what}: {', or '.join(remedies)}{lack.origin}"
            notes.add("agent-capability", _place(name, step, lack.key), words)
        if step.session != "fresh":
            first = first or (name, agent)
            _check_conversation(name, agent, first, notes)


def check_parts(recipe: Recipe, notes: Notes) -> None:
    """Warn of one agent that is the default of two parameters."""
    defaults = {n: p.default for n, p in recipe.params.items() if p.default}
    for agent, (first, *others) in doubled(agents_of(recipe, defaults, "")).items():
        for other in others:
            message = f"'{agent}' is {first} as well: these parts are meant for different agents"
            notes.warn("same-agent", ("params", other, "default"), message)


def _check_presence(place: Path, step: Step, agent: str, agents: KnownAgents, notes: Notes) -> None:
    """Warn of an agent that the recipe names and that cannot be used here: it may be elsewhere."""
    if agent not in agents.can:
        hint = nearest(agent, sorted(agents.can))
        message = (
            f"there is no agent '{agent[:80]}' on this machine; {hint}. Correct the name, or "
            "configure it"
        )
        notes.warn("agent-not-here", place, message)
    elif agent in agents.absent and step.agent is not None:
        message = f"agent '{agent}' cannot be used on this machine: {agents.absent[agent]}"
        notes.warn("agent-not-here", place, message)


def _check_conversation(name: str, agent: str, first: tuple[str, str], notes: Notes) -> None:
    """Check that the run's conversation is one agent's, that of its ``first`` step."""
    step, other = first
    if agent != other:
        message = (
            f"agent '{agent}' cannot go on with the conversation of agent '{other}' (step "
            f"'{step}'): write session = \"fresh\", or give the step that agent"
        )
        notes.add("agent-capability", ("steps", name, "session"), message)


class Lack(NamedTuple):
    """A ``key`` that demands ``what`` an agent cannot do, and a remedy: in the recipe, or in the
    ``settings`` of the agent. ``origin`` says how it is known where that is not its declaration."""

    key: str
    what: str
    remedy: str
    settings: bool = False
    origin: str = ""


def lacks_of(recipe: Recipe, step: Step, agent: str, agents: KnownAgents) -> Iterator[Lack]:
    """Give each demand of a step that an agent does not meet."""
    declared = agents.can.get(agent)
    if declared is None:
        return
    said = agents.described.get(agent, Described())
    unasked = set(_lacks(recipe, step, declared))
    for lack in _lacks(recipe, step, said.applied(declared)):
        origin = ""
        if lack not in unasked:
            version = f"version {said.version}" if said.version else "it"
            origin = f" ({version} has said so; a prompt to the agent asks it again)"
        setting = None if declared.approvals else agents.ask_settings.get(agent)
        if setting is not None and lack.what == _NEVER_ASKS:
            yield _may_ask(lack.key, agent, setting)
        else:
            yield lack._replace(origin=origin)


def _may_ask(key: str, agent: str, setting: str) -> Lack:
    """Say which setting is missing before an agent is known to ask."""
    what = "is not known to ask before it uses a tool"
    trial = f"'podium agent try {agent}' lists its modes"
    return Lack(key, what, f"set [agents.{agent}] {setting} ({trial})", settings=True)


def _place(name: str, step: Step, key: str) -> Path:
    """Return where a demand is written: one of the whole recipe stands at its top."""
    return (key,) if key == "needs" and not step.needs else ("steps", name, key)


def _lacks(recipe: Recipe, step: Step, can: Capabilities) -> Iterator[Lack]:
    """Give each key that demands too much, with what the agent cannot do and a remedy."""
    if step.session == "fork" and not can.fork:
        yield Lack("session", "cannot copy a conversation", 'write session = "fresh"')
    if step.session == "same" and not can.resume:
        yield Lack("session", "cannot go on with a conversation", 'write session = "fresh"')
    if step.tools == "read-only" and not can.read_only_tools:
        yield Lack("tools", "cannot be limited to tools that only read", "remove 'tools'")
    if step.tools not in ("all", "read-only") and not can.tool_lists:
        instead = 'write tools = "read-only"' if can.read_only_tools else "remove 'tools'"
        yield Lack("tools", "cannot be limited to some of its tools", instead)
    if step.kind == "talk" and not step.final and can.own_tools == "none":
        what = "takes no tools from Podium, and only those lead on from a conversation"
        yield Lack("talk", what, "")
    if any(hook.event != "turn-end" for hook in step.hooks) and not can.hooks:
        remedy = "remove the hooks before and after tools"
        yield Lack("hooks", "does not ask about each tool", remedy)
    missing = [tool for tool in can.unasked if tool not in step.allow]
    if missing and step.tools == "all" and step.permission_mode is None:
        words = ", ".join(f'"{tool}"' for tool in missing)
        what = "uses tools without asking that the step does not allow"
        yield Lack("allow", what, f"add {words}")
    if step.allow and not can.approvals:
        yield Lack("allow", _NEVER_ASKS, "remove 'allow'")
    mode = step.permission_mode
    if mode is not None and mode not in can.permission_modes:
        words = ", ".join(sorted(can.permission_modes)) or "none"
        what = f"has no permission mode '{mode[:80]}' (it has: {words})"
        yield Lack("permission_mode", what, "correct or remove it")
    if recipe.limits.max_cost_usd is not None and can.usage != "cost":
        instead = ", only its tokens" if can.usage == "tokens" else ""
        what = f"does not say what a turn costs{instead}"
        yield Lack("agent", what, "remove max_cost_usd from [limits]")
    for need in dict.fromkeys((*step.needs, *recipe.needs)):
        if not _NEEDED[need].met(can):
            yield Lack("needs", _NEEDED[need].lack, f"remove '{need}' from 'needs'")


class _Need(NamedTuple):
    """A need that a recipe states: whether an agent meets it, and how its lack is reported."""

    met: Callable[[Capabilities], bool]
    lack: str


_NEEDED: Final[dict[str, _Need]] = {
    "approvals": _Need(lambda can: can.approvals, _NEVER_ASKS),
    "cost": _Need(lambda can: can.usage == "cost", "does not say what a turn costs"),
    "exactly_once": _Need(
        lambda can: can.exactly_once != "weak",
        "cannot tell after a crash whether it has a prompt",
    ),
    "fork": _Need(lambda can: can.fork, "cannot copy a conversation"),
    "hooks": _Need(lambda can: can.hooks, "does not ask about each tool"),
    "interrupt": _Need(lambda can: can.interrupt, "cannot be interrupted"),
    "own_tools": _Need(lambda can: can.own_tools != "none", "takes no tools from Podium"),
    "read_only_tools": _Need(
        lambda can: can.read_only_tools, "cannot be limited to tools that only read"
    ),
    "resume": _Need(lambda can: can.resume, "cannot go on with a conversation"),
    "steer": _Need(lambda can: can.steer, "takes no message while it works"),
    "structured_output": _Need(
        lambda can: can.structured_output, "cannot be held to the form of an answer"
    ),
    "survives_daemon": _Need(lambda can: can.survives_daemon, "ends with the daemon"),
    "system_text": _Need(lambda can: can.system_text, "cannot change its system text"),
    "tool_lists": _Need(lambda can: can.tool_lists, "cannot be limited to some of its tools"),
}
assert _NEEDED.keys() == set(NEEDS)
