"""Session of a chat: its identity, its last messages, and its holder."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from podium import text
from podium.agent_kinds import CHAT_AGENT, MODE_SETTINGS, MODES, PLAYERS
from podium.errors import NOT_FOUND, USAGE, Failure, Refusal
from podium.render import messages as conversation
from podium.render.words import holder_words, home_relative, recipe_words
from podium.rpc.connection import Connection
from podium.rpc.session_feed import last_messages

if TYPE_CHECKING:
    from podium import protocol

SHOWN = 6
"""Messages that a chat which goes on begins with."""

WHOLE = 36
"""Characters of a whole id."""


class Session:
    """Session in which a chat takes place.

    ``id`` is ``None`` until the first answer of a new session; ``agent`` and ``directory`` are what
    a request names, ``None`` leaves them to the session.

    ``mode`` and ``model`` are the values asked for; ``None``: as the agent is configured.
    ``script`` is the file of turns that the scripted agent plays, for each message anew.
    """

    def __init__(
        self,
        session_id: str | None,
        agent: str | None,
        cwd: str | None,
        mode: str | None,
        model: str | None = None,
    ) -> None:
        new = session_id is None
        self.id = session_id
        self.agent = agent or (CHAT_AGENT if new else None)
        self.directory = os.path.abspath(cwd or os.getcwd()) if new or cwd else None
        self.mode = mode
        self.model = model
        self.script: str | None = None
        self.row: protocol.Session | None = None
        self._configured: dict[str, str] = {}

    def open(self, connection: Connection) -> None:
        """Ask the daemon what there is to know.

        Raises:
            Refusal: more than one session begins with the id, or none.
            Failure: there is no such directory or agent.
        """
        if self.directory and not os.path.isdir(self.directory):
            raise Failure(f"--cwd: '{text.fold(self.directory)}' is not a directory.", USAGE)
        answer: protocol.Configuration = connection.call("daemon.configuration")
        self._configured = {
            str(one.get("key")): str(one.get("value")) for one in answer.get("values") or []
        }
        agents = sorted({key.split(".")[1] for key in self._configured if key[:7] == "agents."})
        if agents and self.agent and self.agent not in agents:
            from podium.nearest import nearest

            near = nearest(self.agent, agents)
            hint = f"the nearest is '{near}'; " if near else ""
            known = f"{hint}there are: {', '.join(agents)}"
            raise Failure(f"There is no agent '{text.fold(self.agent)}'; {known}.", USAGE)
        if self.id is None:
            return
        try:
            self.row = connection.call("sessions.get", {"session_id": self.id})
        except Refusal as refusal:
            if refusal.code != NOT_FOUND:
                raise
            self.id = _completed(connection, self.id, refusal)
        else:
            self.id = self.row["session_id"]
            self._require_its_agent(self.row["agent"])

    def _require_its_agent(self, own: str) -> None:
        """Refuse an agent of another kind than the one that the session is a conversation with.

        Raises ``Failure``.
        """
        if self.agent is None:
            return
        kinds = {self._kind_of(self.agent), self._kind_of(own)}
        if len(kinds) == 1 or not kinds.isdisjoint(PLAYERS):
            return
        mine, theirs = text.fold(self.agent), text.fold(own)
        raise Failure(
            f"Session {text.short(self.id)} is a conversation with {theirs}, of which {mine} knows "
            f"nothing: 'podium chat --session {text.short(self.id)}' goes on with it, 'podium chat "
            f"--agent {mine}' begins another.",
            USAGE,
        )

    @property
    def agent_name(self) -> str:
        """Return the agent's name, as far as it is known."""
        return self.agent or (self.row["agent"] if self.row else "the session's agent")

    @property
    def mode_name(self) -> str:
        """Return the mode of the next prompt; empty where the agent has none."""
        setting = f"agents.{self.agent_name}.{MODE_SETTINGS.get(self._kind)}"
        return self.mode or self._configured.get(setting, "")

    @property
    def modes(self) -> tuple[str, ...]:
        """Return the agent's words for modes; none where only the daemon knows them."""
        return MODES.get(self._kind, ())

    @property
    def _kind(self) -> str:
        """Return the kind of the agent: its name, or the configuration's entry for it."""
        return self._kind_of(self.agent_name)

    def _kind_of(self, agent: str) -> str:
        return self._configured.get(f"agents.{agent}.driver", agent)

    @property
    def model_name(self) -> str:
        """Return the model, as far as it was asked for or the configuration names one."""
        if self.model is not None:
            return self.model
        configured = self._configured.get(f"agents.{self.agent_name}.model")
        return configured or "not known yet: the agent's own choice"

    def first_line(self) -> str:
        """Agent, directory, session and mode."""
        place = self.directory or (self.row and self.row["working_directory"])
        said = [
            self.agent_name,
            text.fold(home_relative(place)) if place else "",
            f"session {text.short(self.id)}" if self.id else "a new session",
            f"mode {self.mode_name}" if self.mode_name else "",
            "/help for help",
        ]
        return " · ".join(filter(None, said))

    def come_back(self) -> str:
        """Return the command that goes on with this session; empty if there is none yet."""
        if not self.id:
            return ""
        played = ["--script", self.script] if self.script else []
        return shlex.join(["podium", "chat", "--session", text.short(self.id), *played])

    def history(self, connection: Connection) -> str:
        """Return the last messages and the session's present holder."""
        if self.row is None:
            return "No transcript of this session is here to show.\n"
        page = last_messages(connection, str(self.id), SHOWN)
        messages = page["messages"]
        first = messages[0]["seq"] if messages else 0
        told = conversation.told(messages, text.Style(sys.stdout), text.columns())
        if first > page["first_seq"]:
            earlier = text.counted(first - page["first_seq"], "earlier message")
            told = f"… {earlier}: 'podium show {text.short(self.id)} -n 100' shows more.\n{told}"
        if recipe := self.row["active_recipe"]:
            return f"{told}\n{recipe_words(recipe)} is at work in this session.\n"
        holder = self.row["holder"]
        return f"{told}\nHeld by {holder_words(holder)}.\n" if holder else told

    @property
    def active_run(self) -> str | None:
        """Return the id of the recipe run that has this session; ``None`` where none has."""
        recipe = self.row and self.row["active_recipe"]
        return recipe["run_id"] if recipe else None


def _completed(connection: Connection, session_id: str, refusal: Refusal) -> str:
    """Complete the id of a session that has no transcript, as not every agent keeps one.

    Only the first prompt shows whether a whole id is known.

    Raises:
        Refusal: no session's id begins so.
    """
    if len(session_id) == WHOLE:
        return session_id
    try:
        connection.call("sessions.messages", {"session_id": session_id, "limit": 1})
    except Refusal as no_messages:
        whole = str(no_messages.data.get("id") or "")  # as the daemon's runs know it
        if len(whole) == WHOLE:
            return whole
    raise refusal
