"""The way to a session that may be prompted: greeted, open, in its mode, with its model. No I/O.

Each step follows from the answer to the one before it. Where an agent lacks what was declared of
it, or does not do as it is told, the turn is refused and nothing was prompted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from msgspec.structs import replace

from podiumd.agents.acp.script import Script
from podiumd.core.analysis.check_agents import Described
from podiumd.drivers.steps import MARK_METHOD, Steps
from podiumd.formats.acp import calls, wire
from podiumd.formats.jsonrpc_lines import Answer, Failure
from podiumd.formats.said import read

_LONGEST: Final = 80
_MOST_MODES: Final = 50
"""Bounds of what is kept of an agent's own words for itself."""

MODE_FENCE: Final = "f:mode"


class Handshake:
    """The beginning of one turn. ``refuse`` takes why it goes no further."""

    def __init__(self, script: Script, steps: Steps, refuse: Callable[[str], None]) -> None:
        self._script = script
        self._steps = steps
        self._refuse = refuse
        self._modes = wire.SessionModeState()
        self._models = wire.SessionModelState()
        self._options: tuple[wire.ConfigOption, ...] = ()
        self._how = script.how
        self._mode_answered = self._mode_fenced = self._in_mode = False
        self.session = ""
        self.opened = self.ready = self.deletes = self.closes = False
        self.described: Described | None = None
        """What the agent says of itself, once all of that is known."""
        self._about = Described()
        self.stopped = False
        """Nothing more is to be begun."""
        steps.begin(calls.INITIALIZE)

    @property
    def loads(self) -> bool:
        """Return whether the session was opened by having its past sent."""
        return self._how == "load"

    def answered(self, name: str, answer: Answer) -> None:
        """Take the answer to one of the steps."""
        if answer.error is not None:
            self._failed(name, answer.error)
        elif name == calls.INITIALIZE:
            self._greeted(read(wire.InitializeResponse, answer.result))
        elif name == calls.OPEN:
            self._opened(read(wire.OpenedSession, answer.result))
        elif name == calls.MODE:
            self._note(read(wire.OpenedSession, answer.result))
            self._mode_answered = True
            self._see_mode()
        elif name.startswith(calls.OPTION):
            self._note(read(wire.OpenedSession, answer.result))
            self._see_option(name.removeprefix(calls.OPTION))
        elif name == calls.MODEL:
            self.ready = True

    def updated(self, update: wire.SessionUpdate) -> None:
        """Note what the session says of itself."""
        if update.session_update == "current_mode_update":
            self._enter(update.current_mode_id)
        elif update.session_update == "config_option_update":
            self._note(wire.OpenedSession(config_options=update.config_options))
        else:
            return
        self._see_mode()

    def fenced(self) -> None:
        """Note that the agent has read all that was sent with the mode."""
        self._mode_fenced = True
        self._see_mode()

    # -- each step ---------------------------------------------------------------------------

    def _plan(self, name: str, *lines: bytes) -> None:
        if not self.stopped:
            self._steps.plan(name, *lines)

    def _greeted(self, about: wire.InitializeResponse) -> None:
        script, can = self._script, about.agent_capabilities
        self.deletes = "delete" in can.session_capabilities
        self.closes = "close" in can.session_capabilities
        if about.protocol_version != wire.VERSION:
            spoken = f"version {about.protocol_version} of its protocol"
            self._refuse(f"{script.agent} speaks {spoken}, and Podium version {wire.VERSION}")
            return
        self._about = _about(about)
        if self._how == "resume" and "resume" not in can.session_capabilities:
            self._how = "load"
        possible = {
            "new": True,
            "fork": "fork" in can.session_capabilities,
            "load": can.load_session,
            "resume": True,
        }
        lacks = ""
        if not possible[self._how]:
            lacks = "copy sessions" if self._how == "fork" else "go on with sessions"
        elif script.images and not can.prompt_capabilities.image:
            lacks = "take images"
        if lacks:
            version = "" if about.agent_info is None else f" {about.agent_info.version}"
            self.described = self._about
            self._refuse(f"{script.agent}{version} does not {lacks}")
        elif self._how == "new":
            self._plan(calls.OPEN, calls.new_session(script.cwd, script.servers))
        else:
            line = calls.open_session(self._how, script.session, script.cwd, script.servers)
            self._plan(calls.OPEN, line)

    def _opened(self, about: wire.OpenedSession) -> None:
        script = self._script
        goes_on = self._how in ("resume", "load")
        self.session = script.session if goes_on else about.session_id
        if not self.session:
            self._refuse(f"{script.agent} opened a session without naming it")
            return
        self.opened = True
        self._note(about)
        self.described = replace(self._about, modes=self._known_modes)
        if script.mode:
            self._set_mode()
        else:
            self._set_options()

    def _set_mode(self) -> None:
        wanted, option = self._script.mode, self._option("mode", "")
        known = tuple(mode.id for mode in self._modes.available_modes)
        if option is not None and (self._script.mode_confirm == "read" or not known):
            known, line = (
                option.values,
                calls.set_option(calls.MODE, self.session, option.id, wanted),
            )
        else:
            line = calls.set_mode(self.session, wanted)
        if known and wanted not in known:
            self._refuse(_unknown(self._script.agent, "mode", wanted, known))
            return
        self._plan(calls.MODE, line, calls.fence(MODE_FENCE, MARK_METHOD))

    def _see_mode(self) -> None:
        """Go on once the agent is known to be in the mode; refuse once it is known not to be."""
        wanted, now = self._script.mode, self._modes.current_mode_id
        if not self._mode_answered or self._in_mode:
            return
        if now == wanted or self._script.mode_confirm == "answer":
            self._set_options()
        elif self._mode_fenced:
            self._refuse(f"{self._script.agent} stays in mode '{now}': '{wanted}' was asked for")

    def _set_options(self) -> None:
        """Set the first option that has another value than it is to have; then the model."""
        self._in_mode = True
        for name, wanted in self._script.options.items():
            option = self._option("", name)
            if option is None:
                self._refuse(f"{self._script.agent} has no option '{name}': '{wanted}' is needed")
                return
            if option.current_value != wanted:
                step = calls.OPTION + name
                self._plan(step, calls.set_option(step, self.session, name, wanted))
                return
        self._set_model()

    def _see_option(self, name: str) -> None:
        """Go on once the option has its value; refuse where it has another."""
        option, wanted = self._option("", name), self._script.options[name]
        if option is not None and option.current_value == wanted:
            self._set_options()
        else:
            self._refuse(f"{self._script.agent} does not take '{wanted}' for its option '{name}'")

    def _set_model(self) -> None:
        wanted = self._script.model
        if not wanted:
            self.ready = True
            return
        option = self._option("model", self._script.model_option)
        known: Sequence[str] = [model.model_id for model in self._models.available_models]
        line = calls.set_model(self.session, wanted)
        if option is not None:
            known = option.values
            line = calls.set_option(calls.MODEL, self.session, option.id, wanted)
        if wanted not in known:
            self._refuse(_unknown(self._script.agent, "model", wanted, known))
        else:
            self._plan(calls.MODEL, line)

    def _failed(self, name: str, error: Failure) -> None:
        agent = self._script.agent
        if error.code == wire.AUTH_REQUIRED:
            command = f"run '{self._script.login}'" if self._script.login else "log in with it"
            self._refuse(f"{agent} is not logged in: {command} in a terminal")
        elif name == calls.MODE:
            self._refuse(f"{agent} does not take the mode '{self._script.mode}': {error.message}")
        elif name.startswith(calls.OPTION):
            option = name.removeprefix(calls.OPTION)
            self._refuse(f"{agent} does not set its option '{option}': {error.message}")
        elif name == calls.MODEL:
            self._refuse(f"{agent} does not take the model '{self._script.model}': {error.message}")
        else:
            self._refuse(f"{agent}: {error.message}")

    # -- what the session is ------------------------------------------------------------------

    def _note(self, about: wire.OpenedSession) -> None:
        self._modes = about.modes or self._modes
        self._models = about.models or self._models
        self._options = about.config_options or self._options
        option = self._option("mode", "")
        if about.config_options and option is not None:
            self._enter(option.current_value)

    def _enter(self, mode: Any) -> None:
        if isinstance(mode, str):
            self._modes = wire.SessionModeState(
                current_mode_id=mode, available_modes=self._modes.available_modes
            )

    @property
    def _known_modes(self) -> tuple[str, ...]:
        option = self._option("mode", "")
        told = (
            [mode.id for mode in self._modes.available_modes] if option is None else option.values
        )
        return tuple(mode[:_LONGEST] for mode in told[:_MOST_MODES])

    def _option(self, category: str, name: str) -> wire.ConfigOption | None:
        fitting = (
            one for one in self._options if (one.id == name if name else one.category == category)
        )
        return next(fitting, None)


def _about(about: wire.InitializeResponse) -> Described:
    """Return what a greeting says of what the agent can do."""
    can, info = about.agent_capabilities, about.agent_info
    goes_on = can.load_session or "resume" in can.session_capabilities
    lacks: list[Literal["fork", "resume"]] = []
    lacks += [] if "fork" in can.session_capabilities else ["fork"]
    lacks += [] if goes_on else ["resume"]
    return Described(version="" if info is None else info.version[:_LONGEST], lacks=tuple(lacks))


def _unknown(agent: str, what: str, wanted: str, known: Sequence[str]) -> str:
    there = f"it has: {', '.join(known)}" if known else f"it tells of no {what} at all"
    return f"{agent} knows no {what} '{wanted}' ({there})"
