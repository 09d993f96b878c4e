"""Following of a recipe in a chat: its progress is shown, and the person talks into it.

While its agent works, what is typed goes into the running turn. While it waits for an answer, what
is no answer goes to the agent as a prompt of its own. Ctrl-C pauses it. A conversation in phases is
the chat itself: the person's next message goes to its phase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from podium import text
from podium.chat.follow import ChatFeed, Follower
from podium.chat.session import Session
from podium.chat.view import Out
from podium.dialog import slash_commands
from podium.dialog.conversation import say
from podium.errors import OK, ConnectionLost, DaemonDown, Failure
from podium.given import present
from podium.render.narrate import Narrator
from podium.rpc import follow
from podium.rpc.connection import Connection, call
from podium.rpc.conversation_state import ConversationState, waits_for_words

if TYPE_CHECKING:
    from podium import protocol
    from podium.render.question import Asked


class RecipeConversation:
    """Recipe that has the chat's session, if one has.

    ``code`` is the exit code that its end stands for; ``following``: it was neither over nor paused
    at the last news from its daemon.

    Parameters:
        say: sends a prompt of its own and shows its answer.
        command: carries out a command of the chat; false where there is none of that name.
    """

    def __init__(
        self,
        session: Session,
        out: Out,
        follower: Follower,
        say: Callable[[str], None],
        command: Callable[[str], bool],
    ) -> None:
        self.code = OK
        self._session = session
        self._out = out
        self._follower = follower
        self._say = say
        self._command = command
        self.following = False
        self._events: ChatFeed | None = None
        self._phase = ConversationState()
        self._left = False
        self._said: list[str] = []
        self._view = Narrator(out.answer, interactive=True, said=self._said)

    @property
    def run_id(self) -> str | None:
        """Return the run's id; ``None`` once it is over."""
        return self._events.run_id if self._events is not None else None

    @property
    def phase(self) -> str | None:
        """Return the phase of the conversation that the run is in; ``None`` where it is in none."""
        return self._phase.name if self._events is not None else None

    def start(self, recipe: str, params: Mapping[str, str] | None = None) -> bool:
        """Start a recipe in the chat's session and follow it; true when the person leaves.

        Raises:
            Failure: it cannot be started, or the daemon is gone.
        """
        session = self._session
        place = session.directory or (session.row and session.row["working_directory"])
        request: protocol.RunStart = {
            "recipe": recipe,
            "working_directory": place or "",
            "on_question": "ask",
            "session_id": session.id,
            "agent": session.agent,
            "params": params or {},
            "model": session.model,
            "script": session.script,
        }
        connection, run = follow.start_run(present(request))
        session.id = str(run.get("session_id") or session.id)
        self._events, self._phase = ChatFeed(connection, str(run["run_id"])), ConversationState()
        return self.go()

    def join(self, run_id: str) -> bool:
        """Follow a run that has the session already, from now on; true when the person leaves."""
        connection, seq = Connection(), 0
        while True:
            asked: protocol.RunEvents = {"run_id": run_id, "after_seq": seq}
            page = connection.call("runs.events", asked)
            if not page.get("events"):
                break
            seq = int(page["next_seq"])
        run: protocol.Run = connection.call("runs.get", {"run_id": run_id})
        self._events, self._phase = ChatFeed(connection, run_id, seq), ConversationState()
        if run.get("status") == "paused":
            self._tell_paused()
            return False
        return self.go(run.get("questions") or [])

    def go(self, standing: Sequence[Asked] = ()) -> bool:
        """Follow it until it is over, paused, or the person's turn; true when the person leaves it
        before.

        ``standing`` are questions that were open before.

        Raises:
            Failure: the daemon is gone for good; ``go`` can be called again.
        """
        events = self._events
        assert events is not None
        paused: list[protocol.Event] = []

        def is_paused(event: protocol.Event) -> bool:
            paused.extend([event] if event.get("type") == "run.paused" else [])
            return bool(paused)

        self.following, self._left = True, False
        run = self._follower.follow(
            events,
            self._view,
            self._heed,
            self._beside,
            is_paused,
            standing,
            self._phase,
        )
        self.following = False
        if run is not None:
            self._over(run)
            return False
        if paused:
            self._tell_paused()
            return False
        if waits_for_words(self._phase.run) and not self._left:
            return False
        run_id = text.short(events.run_id)
        self._out.note(f"The recipe goes on: 'podium attach {run_id}' follows it.")
        return True

    def rejoin(self) -> bool:
        """Go on with a recipe whose daemon was gone for long; as ``go``."""
        assert self._events is not None
        self._events, standing = self._events.anew()
        return self.go(standing)

    def resume(self) -> bool:
        """Let a paused recipe go on; as ``go``."""
        assert self._events is not None
        follow.certain("runs.resume", {"run_id": self._events.run_id})
        return self.go()

    def stop(self) -> bool:
        """End it; as ``go``."""
        assert self._events is not None
        follow.certain("runs.cancel", {"run_id": self._events.run_id})
        return self.go()

    def _over(self, run: protocol.Run) -> None:
        self._events = None
        self.code = follow.exit_code(run)
        self._session.id = run["main_session_id"]

    def _tell_paused(self) -> None:
        self._out.note(
            "The recipe is paused: /resume lets it go on, /stop ends it, and what you say goes to "
            "the agent beside it.",
            "yellow",
        )

    def heard(self, told: protocol.Went) -> bool:
        """Go on after a message to the run's phase; return as ``go`` does.

        ``told`` is the daemon's answer to that message.
        """
        self._said.append(str(told.get("uuid")))
        return self.go()

    def _beside(self, words: str) -> None:
        """Send words that do not answer the open question."""
        if self.phase is None:
            self._say(words)
        else:
            self._speak(words)

    def _heed(self, line: str) -> bool:
        """Carry out or send a line that answers no question; true if the person leaves."""
        if slash_commands.leaves(line):
            self._left = True
            return True
        if line.strip() and not self._command(line):
            words = slash_commands.for_agent(line)
            if self.phase is None:
                self._steer(words)
            else:
                self._speak(words)
        return False

    def _speak(self, words: str) -> None:
        """Say something to the phase while it is not the person's turn."""
        try:
            assert self._phase.run is not None
            told = say(self._phase.run, words)
        except Failure as failure:
            self._out.note(failure.sentence, "yellow")
        else:
            self._said.append(str(told.get("uuid")))

    def _steer(self, words: str) -> None:
        try:
            assert self._events is not None
            told = call("runs.steer", {"run_id": self._events.run_id, "text": words})
        except (ConnectionLost, DaemonDown):
            self._out.note(f"perhaps not delivered: {words}", "yellow")
        except Failure as failure:
            self._out.note(failure.sentence, "yellow")
        else:
            if told.get("state") == "too_late":
                self._out.note("it goes into the next prompt")
