"""What an app knows beside conversations: recipes, commands, files, questions."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.phone_app.fields import MISREAD, Fault, Json


@dataclass
class CommandRun:
    """A command that was started; ``exit_code`` is ``None`` while it runs."""

    command_id: str
    shell_command: str
    output: list[tuple[str, str]] = field(default_factory=list)
    exit_code: int | None = None


@dataclass
class Board:
    """The latest of each kind. ``questions`` are the open ones, ``closed`` how others ended."""

    recipes: list[Json] = field(default_factory=list)
    active: dict[str, Json] = field(default_factory=dict)
    exited: list[Json] = field(default_factory=list)
    recipe_errors: list[Json] = field(default_factory=list)
    questions: dict[str, Json] = field(default_factory=dict)
    closed: dict[str, Json] = field(default_factory=dict)
    commands: Json = field(default_factory=dict)
    runs: dict[str, CommandRun] = field(default_factory=dict)
    command_errors: list[Json] = field(default_factory=list)
    ran: list[Json] = field(default_factory=list)
    outputs: dict[str, Json] = field(default_factory=dict)
    resources: list[Json] = field(default_factory=list)
    uploads: list[Json] = field(default_factory=list)

    def take(self, frame: Json, faults: list[Fault]) -> None:
        """Note one decoded frame; types of no interest here change nothing."""
        handler = getattr(self, f"_{frame['type']}", None)
        if handler is not None:
            handler(frame, faults)

    def _available_recipes(self, frame: Json, faults: list[Fault]) -> None:
        self.recipes = frame["recipes"]

    def _recipe_started(self, frame: Json, faults: list[Fault]) -> None:
        self.active[frame["session_id"]] = frame

    def _recipe_exited(self, frame: Json, faults: list[Fault]) -> None:
        self.active.pop(frame["session_id"], None)
        self.exited.append(frame)

    def _recipe_error(self, frame: Json, faults: list[Fault]) -> None:
        self.recipe_errors.append(frame)

    def _question(self, frame: Json, faults: list[Fault]) -> None:
        self.questions[frame["question_id"]] = frame

    def _question_closed(self, frame: Json, faults: list[Fault]) -> None:
        self.questions.pop(frame["question_id"], None)
        self.closed[frame["question_id"]] = frame

    def _available_commands(self, frame: Json, faults: list[Fault]) -> None:
        self.commands = frame

    def _command_started(self, frame: Json, faults: list[Fault]) -> None:
        started = CommandRun(frame["command_id"], frame.get("shell_command", ""))
        self.runs[frame["command_session_id"]] = started

    def _command_output(self, frame: Json, faults: list[Fault]) -> None:
        if (run := self._started(frame, faults)) is not None:
            run.output.append((frame.get("stream", "stdout"), frame["text"]))

    def _command_complete(self, frame: Json, faults: list[Fault]) -> None:
        if (run := self._started(frame, faults)) is not None:
            run.exit_code = frame["exit_code"]

    def _started(self, frame: Json, faults: list[Fault]) -> CommandRun | None:
        run = self.runs.get(frame["command_session_id"])
        if run is None:
            reason = "is of no command that was started: what came is dropped"
            faults.append(Fault(frame["type"], "command_session_id", reason, MISREAD))
        return run

    def _command_error(self, frame: Json, faults: list[Fault]) -> None:
        self.command_errors.append(frame)

    def _command_history(self, frame: Json, faults: list[Fault]) -> None:
        self.ran = frame["sessions"]

    def _command_output_full(self, frame: Json, faults: list[Fault]) -> None:
        self.outputs[frame["command_session_id"]] = frame

    def _file_uploaded(self, frame: Json, faults: list[Fault]) -> None:
        self.uploads.append(frame)

    def _resources_list(self, frame: Json, faults: list[Fault]) -> None:
        self.resources = frame["resources"]
