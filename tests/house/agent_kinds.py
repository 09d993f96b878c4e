"""Write what the client knows of agents from the daemon's kinds: a part of ``make wire``.

The client imports nothing of the daemon, and completes names without one.
"""

from __future__ import annotations

from typing import Final

from podiumd.agents.kinds import CHAT_AGENT, KINDS
from podiumd.core.analysis.capability_words import CAPABILITIES
from tests.house.source import ROOT

FILE: Final = ROOT / "client/podium/agent_kinds.py"


def printed() -> str:
    """Return the module."""
    kinds = sorted(KINDS.values(), key=lambda kind: kind.name != CHAT_AGENT)
    tables = {
        "LABELS": {kind.name: kind.label for kind in kinds if kind.standing},
        "MODE_SETTINGS": {kind.name: kind.mode_setting for kind in kinds if kind.mode_setting},
        "MODES": {kind.name: kind.modes for kind in kinds if kind.modes},
    }
    without = tuple(kind.name for kind in kinds if kind.session_format is None)
    tables["CAPABILITIES"] = CAPABILITIES
    words = {
        "LABELS": "The agents that there are without a table in the configuration.",
        "MODE_SETTINGS": "The setting of the mode, by the kind of agent.",
        "CAPABILITIES": "Capabilities in words, by their names.",
        "MODES": "The words for modes; other kinds have some that the daemon knows.",
    }
    lines = [
        '"""The kinds of agents. Made from ``podiumd.agents`` by ``make wire``; do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        f'CHAT_AGENT = "{CHAT_AGENT}"',
        '"""The agent of a new chat that names none."""',
    ]
    for name, table in tables.items():
        lines += ["", f"{name} = {_literal(table)}", f'"""{words[name]}"""']
    lines += ["", f"WITHOUT_SESSIONS = {_literal(without)}", '"""Kinds that keep no transcript."""']
    known = tuple(name for kind in kinds for name in kind.known())
    words_of_known = '"""Agents that need no table where their program is on the daemon\'s PATH."""'
    lines += ["", f"KNOWN = {_literal(known)}", words_of_known]
    players = tuple(kind.name for kind in kinds if kind.plays_scripts)
    words_of_players = '"""Kinds that play turns of a file, in whichever session."""'
    lines += ["", f"PLAYERS = {_literal(players)}", words_of_players]
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    """Write a value as the formatter leaves it."""
    if isinstance(value, dict):
        rows = (f"    {_literal(key)}: {_literal(one)},\n" for key, one in value.items())
        return "{\n" + "".join(rows) + "}"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ("," if len(value) == 1 else "") + ")"
    raise TypeError(f"nothing writes {value!r}")


if __name__ == "__main__":
    FILE.write_text(printed(), encoding="utf-8")
