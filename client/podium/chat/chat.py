"""``podium chat``: a conversation with an agent at the terminal, or from a script."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from podium import text
from podium.chat.follow import ChatFeed, Follower, Left, Unanswered
from podium.chat.input import PROMPT, Lines, Person
from podium.chat.recipe import RecipeConversation
from podium.chat.session import Session
from podium.chat.terminal import CtrlC, Terminal
from podium.chat.view import Out, TurnView
from podium.dialog import slash_commands
from podium.errors import INTERRUPTED, NEEDS_PERSON, OK, USAGE, Failure, Refusal
from podium.given import at_terminal, parse_params, present, whole_path
from podium.render.screen import Screen
from podium.render.spending import Spending
from podium.rpc import follow
from podium.rpc.connection import Connection, call

if TYPE_CHECKING:
    from podium import protocol
    from podium.render.question import Asked


def chat(
    cwd: str | None,
    agent: str | None,
    model: str | None,
    script: str | None,
    session: str | None,
    recipe: str | None,
    params: list[str],
    allow_all: bool,
    voice: bool,
) -> int:
    """``podium chat``."""
    if params and recipe is None:
        raise Failure("-p needs '--recipe RECIPE', whose parameter it is.", USAGE)
    given = parse_params(params)
    answer = Screen(sys.stdout)
    if voice and not (at_terminal() and answer.style.smart):
        raise Failure("--voice needs a terminal: scripts have 'podium listen'.", USAGE)
    out = Out(answer, answer if answer.style.terminal else Screen(sys.stderr))
    place = Session(session, agent, cwd, "allow-all" if allow_all else None, model)
    place.script = script and whole_path(script)
    connection = Connection()
    place.open(connection)
    with Terminal() as terminal, CtrlC() as ctrl_c:
        person = at_terminal() and answer.style.smart
        spoken = place if voice else None
        lines = _input(out.aside, terminal, person, spoken)
        talk = Chat(place, out, lines, ctrl_c)
        out.aside.line(out.aside.style("bold", text.fold(place.first_line())))
        if session is not None:
            out.aside.write(place.history(connection))
        connection.close()
        code = talk.run(recipe, given)
        back = place.come_back()
        out.aside.line(f"Come back with: {back}" if back else "No session was begun.")
        return code


class Chat:
    """Conversation in a terminal, from the first line to the last."""

    def __init__(self, session: Session, out: Out, lines: Lines, ctrl_c: CtrlC) -> None:
        self._session = session
        self._out = out
        self._lines = lines
        self._ctrl_c = ctrl_c
        self._follower = Follower(lines, out, ctrl_c, self._at_question)
        self._recipe = RecipeConversation(
            session, out, self._follower, self._say, self._aside_command
        )
        self._person = text.is_terminal(sys.stdin)
        self._queue: deque[str] = deque()
        self._draft = ""
        self._unfinished: Callable[[], None] | None = None
        self._spent = Spending()
        self._model = ""
        self._code = OK
        self._over = False
        self._commands: dict[str, Callable[[str], None]] = {
            "help": self._help,
            "status": self._status,
            "session": self._tell_session,
            "mode": self._mode,
            "recipe": self._start_recipe,
            "resume": lambda _: self._recipe_goes(self._recipe.resume),
            "stop": lambda _: self._recipe_goes(self._recipe.stop),
        }

    def run(self, recipe: str | None, params: Mapping[str, str]) -> int:
        """Talk until the person leaves; the exit code: 0 for a person, for a script that of the
        last request, and that of its refusal for a recipe that was not begun."""
        if recipe is not None:
            begun = self._attempt(lambda: self._leave_if(self._recipe.start(recipe, params)))
            refused = not begun and self._recipe.run_id is None
            if refused or not (begun or self._person or self._unfinished):
                return self._code  # the next line was meant for the recipe
        elif (run_id := self._session.active_run) is not None:
            self._attempt(lambda: self._leave_if(self._recipe.join(run_id)))
        while not self._over and (message := self._next()) is not None:
            if slash_commands.leaves(message):
                break
            if message.strip():
                self._lines.keep(message)
                self._heed(message)
        if self._recipe.phase and self._code == OK:
            self._code = NEEDS_PERSON  # the conversation waits for a message that never came
        return OK if self._person else self._code

    def _next(self) -> str | None:
        """Read the next message; Ctrl-C clears the line, and ends a script."""
        phase = self._recipe.phase
        self._lines.prompt = f"{text.fold(phase)}> " if phase else PROMPT
        while self._queue:
            message = self._queue.popleft()
            if not self._lines.switches(message):
                return message
        while True:
            draft, self._draft = self._draft, ""
            try:
                with self._ctrl_c.lifted():
                    return self._lines.next(draft)
            except KeyboardInterrupt:
                if not self._person:
                    self._code = INTERRUPTED
                    return None

    def _heed(self, message: str) -> None:
        pressed = self._ctrl_c.count
        self._ctrl_c.taken()
        with self._lines.at_work():
            if not self._aside_command(message, at_prompt=True):
                self._attempt(lambda: self._say(slash_commands.for_agent(message)), message)
        if self._ctrl_c.count == pressed:
            return
        if not self._person:
            self._code, self._over = INTERRUPTED, True
        self._think_over()

    def _attempt(self, request: Callable[[], None], message: str = "") -> bool:
        """Try a request that may fail; return false where it failed.

        On failure the error is shown, the person keeps the message, and the chat goes on.
        """
        sent = False
        try:
            if self._unfinished is not None:
                self._unfinished()
            sent = True
            request()
            return True
        except Left as left:
            self._code, self._over = left.exit_code, True
        except Unanswered as failure:
            self._complain(failure)
            self._over = True
        except Failure as failure:
            self._complain(failure)
            if self._unfinished is None and self._recipe.following:
                self._unfinished = self._rejoin_recipe
            if self._lines.interactive and not (sent and self._unfinished):
                self._draft = message
            if self._lines.interactive:
                self._think_over()
        return False

    def _think_over(self) -> None:
        """Put what was to come after a turn that was interrupted, or failed, at the prompt."""
        self._draft = "\n".join(filter(None, (self._draft, *self._queue)))
        self._queue.clear()

    def _complain(self, failure: Failure) -> None:
        self._code = failure.exit_code
        aside = self._out.aside
        aside.line(aside.style("red", text.fold(f"podium: {failure.sentence}")))
        for line in failure.details:
            aside.line(f"  {text.fold(line)}")

    # -- prompts -------------------------------------------------------------------------------

    def _say(self, words: str) -> None:
        """Send a prompt and show its answer.

        Raises:
            Failure: it was not sent, or the daemon is gone for good.
        """
        session, phase = self._session, self._recipe.phase
        request: protocol.Prompt = {"text": words, "session_id": session.id}
        if phase is None:
            request |= {
                "working_directory": session.directory,
                "agent": session.agent,
                "model": session.model,
                "script": session.script,
                "permission_mode": session.mode,
            }
        connection, started = follow.start_prompt(present(request))
        if phase is not None:
            if str(started["run_id"]) == self._recipe.run_id:
                connection.close()
                self._leave_if(self._recipe.heard(started))
                return
            self._leave_if(self._recipe.go())  # it is over, and the message came after it
        if session.id != started["session_id"]:
            session.id = str(started["session_id"])
            self._out.note(f"session {text.short(session.id)}")
        if started.get("delivery") == "queued":
            self._out.note("queued until another prompt is over")
        run_id, view = str(started["run_id"]), TurnView(self._out)
        self._unfinished = lambda: self._follow(ChatFeed(Connection(), run_id), view)
        self._follow(ChatFeed(connection, run_id), view)

    def _follow(self, events: ChatFeed, view: TurnView, standing: Sequence[Asked] = ()) -> None:
        self._unfinished = lambda: self._rejoin(events, view)
        self._follower.follow(events, view, self._put_in_line, standing=standing)
        self._unfinished = None
        events.connection.close()
        self._spent.add(view.spent.cost_usd, view.spent.tokens)
        self._model = view.model or self._model
        self._code = view.code
        self._lines.answered(view.answer)

    def _rejoin(self, events: ChatFeed, view: TurnView) -> None:
        """Show the rest of a turn that was left when the daemon was gone for long."""
        events, standing = events.anew()
        self._follow(events, view, standing)

    def _rejoin_recipe(self) -> None:
        """Rejoin the recipe, as ``_rejoin`` does the turn."""
        left = self._recipe.rejoin()
        self._unfinished = None
        self._leave_if(left)

    def _put_in_line(self, line: str) -> bool:
        """Queue a line typed while the agent works; it is sent after the turn."""
        if line.strip():
            self._queue.append(line)
            leaves = slash_commands.leaves(line)
            self._out.note("leaving when it is done" if leaves else f"next: {line}")
        return False

    # -- commands ------------------------------------------------------------------------------

    def _aside_command(self, message: str, *, at_prompt: bool = False) -> bool:
        """Carry out a command; false where the message is none. Those that follow the recipe have
        to wait for the prompt."""
        asked = slash_commands.command(message)
        if asked is None:
            return False
        name, rest = asked
        carry_out = self._commands.get(name)
        if carry_out is None:
            self._out.note(f"There is no /{name}: /help lists what there is.", "yellow")
        elif name in slash_commands.AT_PROMPT and not at_prompt:
            self._out.note(f"/{name} has to wait: Ctrl-C pauses the recipe.", "yellow")
        else:
            self._attempt(lambda: carry_out(rest))
        return True

    def _at_question(self, message: str) -> bool:
        """Carry out a command while a run is followed.

        Like ``_aside_command``, but only for commands that exist: any other words that look like
        one may be an answer.
        """
        name, rest = slash_commands.command(message) or ("", "")
        carry_out = self._commands.get(name)
        if carry_out is None:
            return False
        if name in slash_commands.AT_PROMPT:
            self._out.note(f"/{name} has to wait for the answer.", "yellow")
            return True
        try:
            carry_out(rest)
        except Failure as failure:
            self._complain(failure)
        return True

    def _help(self, rest: str) -> None:
        recipe = self._recipe.run_id is not None
        modes = self._session.modes
        person, screen = self._lines.interactive, self._out.aside
        screen.write(
            slash_commands.help_text(
                person=person, recipe=recipe, modes=modes, width=screen.columns
            )
        )

    def _status(self, rest: str) -> None:
        session, run_id = self._session, self._recipe.run_id
        self._out.aside.line(text.fold(session.first_line().removesuffix(" · /help for help")))
        self._out.note(f"model {self._model or session.model_name}")
        if self._spent.so_far:
            self._out.note(self._spent.so_far)
        if run_id is not None:
            run: protocol.Run = call("runs.get", {"run_id": run_id})
            said = f"{run.get('recipe')}: {run.get('status')}, step {run.get('step') or '-'}"
            self._out.note(f"recipe {said} ({text.short(run_id)})")

    def _tell_session(self, rest: str) -> None:
        back = self._session.come_back()
        self._out.aside.line(f"Come back with: {back}" if back else "No session was begun yet.")

    def _mode(self, rest: str) -> None:
        session = self._session
        if rest and session.modes and rest not in session.modes:
            known = ", ".join(session.modes)
            self._out.note(f"There is no mode '{rest}'; there are: {known}.", "yellow")
            return
        session.mode = rest or session.mode
        if not session.mode_name:
            self._out.note("The agent's own mode.")
        else:
            since = ", from the next prompt on" if rest else ""
            self._out.note(f"mode {session.mode_name}{since}")

    def _start_recipe(self, rest: str) -> None:
        import shlex

        if self._recipe.run_id is not None:
            self._out.note("A recipe is at work already: /resume or /stop it.", "yellow")
            return
        try:
            recipe, *params = shlex.split(rest)
        except ValueError:
            self._out.note("/recipe NAME [PARAMETER=VALUE ...]; quote values with blanks", "yellow")
            return
        given = parse_params(params, "")
        try:
            self._leave_if(self._recipe.start(recipe, given))
        except Refusal as refusal:
            if missing := refusal.data.get("missing"):
                refusal.data["fix"] = f"Give it here: /recipe {recipe} {missing}=..."
            raise

    def _recipe_goes(self, go: Callable[[], bool]) -> None:
        if self._recipe.run_id is None:
            self._out.note("No recipe is at work in this chat.", "yellow")
            return
        self._leave_if(go())

    def _leave_if(self, left: bool) -> None:
        self._over = left
        self._code = self._recipe.code


def _input(
    screen: Screen, terminal: Terminal, person: bool, spoken: Session | None = None
) -> Lines:
    """Choose the source of the person's messages.

    ``person``: a person sits at a terminal that can show what is typed while the agent works;
    ``spoken``: the person also speaks, in this session.
    """
    if spoken is not None:
        from podium.chat.voice import Voice  # knows the microphone; loaded only where it is used

        return Voice(screen, terminal, spoken)
    return Person(screen, terminal) if person else Lines(screen)
