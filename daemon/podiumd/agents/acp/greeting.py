"""An agent's words about itself, in its answers to the greeting and to a new session. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from podiumd.agents.halves import Greeting
from podiumd.formats.acp import calls, wire
from podiumd.formats.jsonrpc_lines import Answer
from podiumd.formats.jsonrpc_lines import read as read_line
from podiumd.formats.said import read


def greeting(lines: Sequence[bytes]) -> Greeting:
    """Read them off the lines of a turn that only opened a session."""
    answers = {one.id: one for line in lines if isinstance(one := read_line(line), Answer)}
    about = read(wire.InitializeResponse, _result(answers.get(calls.INITIALIZE)))
    opened = read(wire.OpenedSession, _result(answers.get(calls.OPEN)))
    modes = opened.modes or wire.SessionModeState()
    models = opened.models or wire.SessionModelState()
    mode, model = _option(opened, "mode"), _option(opened, "model")
    info = about.agent_info or wire.AgentInfo()
    return Greeting(
        version=f"{info.name} {info.version}".strip(),
        mode=modes.current_mode_id or _word(mode.current_value),
        modes=tuple(one.id for one in modes.available_modes) or mode.values,
        model=models.current_model_id or _word(model.current_value),
        models=tuple(one.model_id for one in models.available_models) or model.values,
        logins=tuple(one.name or one.id for one in about.auth_methods),
        leaves=_leaves(opened.session_id, answers.get(calls.DELETE)),
    )


def _leaves(session: str, deleted: Answer | None) -> tuple[str, ...]:
    if not session or (deleted is not None and deleted.error is None):
        return ()
    why = "does not delete it" if deleted is not None else "has no way to delete one"
    return (f"the empty session {session} stays in its list: it {why}",)


def _result(answer: Answer | None) -> object:
    return None if answer is None else answer.result


def _option(opened: wire.OpenedSession, category: str) -> wire.ConfigOption:
    fitting = (one for one in opened.config_options if one.category == category)
    return next(fitting, wire.ConfigOption())


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""
