"""The parameters of every method: types with patterns and ranges, and words for what is wrong.

What a client sends is checked here before anything else sees it: identifiers by pattern before
they come near a path, texts for what no agent could be given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_type_hints

import msgspec
from msgspec import Meta

from podiumd.config import MODEL
from podiumd.core.findings import nearest
from podiumd.runtime.errors import InvalidParameter
from podiumd.wording import convert, expected, quoted

LONGEST_AGENT_LINE: Final = 1024 * 1024 - 4096  # bytes that reach an agent's pipe in one write
_AGENT_LINE_FRAME: Final = 512  # of such a line, around the text

Id = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9A-Za-z][0-9A-Za-z_-]{0,127}\Z",
        description="an id or its beginning: letters, digits, '-' and '_'",
    ),
]
Name = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9A-Za-z][0-9A-Za-z_.-]{0,127}\Z",
        description="a name of letters, digits, '-', '_' and '.'",
    ),
]
ModelName = Annotated[
    str,
    Meta(
        pattern=rf"\A{MODEL}\Z",
        description="the agent's own word for a model: at most 200 characters, no spaces",
    ),
]
Text = Annotated[
    str, Meta(pattern=r"\A[^\0]+\Z", description="a text that is not empty, without NUL")
]
AnyText = Annotated[str, Meta(pattern=r"\A[^\0]*\Z", description="a text without NUL")]
Directory = Annotated[
    str,
    Meta(
        pattern=r"\A/[^\0]{0,4095}\Z",
        description="the absolute path of a directory, beginning with '/'",
    ),
]
File = Annotated[
    str, Meta(pattern=r"\A/[^\0]{0,4095}\Z", description="the absolute path of a file")
]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z", description="a digest as hex digits")]
Token = Annotated[
    str, Meta(pattern=r"\A[!-~]{1,200}\Z", description="1 to 200 printable ASCII characters")
]
EventType = Annotated[
    str, Meta(pattern=r"\A[a-z]+(\.[a-z-]+)*\Z", description="the type of an event, as 'run.ended'")
]
Time = Annotated[
    str,
    Meta(pattern=r"\A[0-9TtZz:.+-]{1,40}\Z", description="a time, as 2026-01-31T12:00:00.000Z"),
]
Word = Annotated[
    str, Meta(pattern=r"\A[ -~]{0,200}\Z", description="at most 200 printable ASCII characters")
]
DeviceName = Annotated[
    str,
    Meta(min_length=1, max_length=64, description="1 to 64 printable characters"),
]
Position = Annotated[int, Meta(ge=0, le=2**53)]
PageSize = Annotated[int, Meta(ge=1, le=1000)]


class _Params(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What every method's parameters have in common."""


class Nothing(_Params):
    """No parameters."""


class Configure(_Params):
    """``daemon.configure``."""

    orchestration_enabled: bool | None = None


class Shutdown(_Params):
    """``daemon.shutdown``."""

    turns: Literal["leave", "interrupt"] = "leave"


class InDirectory(_Params):
    """Recipes as seen from a directory."""

    working_directory: Directory | None = None


class GetRecipe(_Params):
    """``recipes.get``."""

    id: Name
    working_directory: Directory | None = None


class ParseOutcome(_Params):
    """``recipes.outcome``."""

    id: Name
    step: Name
    text: AnyText
    working_directory: Directory | None = None


class CheckRecipe(_Params):
    """``recipes.check``: one of ``path``, ``text`` and ``id``."""

    path: File | None = None
    text: AnyText | None = None
    id: Name | None = None
    working_directory: Directory | None = None


class Simulate(_Params):
    """``recipes.simulate``; what a step cannot end with, the simulation says best."""

    id: Name
    outcomes: Annotated[tuple[Word, ...], Meta(max_length=1000)]
    working_directory: Directory | None = None


class DrawRecipe(_Params):
    """``recipes.graph``."""

    id: Name
    format: Literal["mermaid", "dot"] = "mermaid"
    working_directory: Directory | None = None


class Rehearse(_Params):
    """``recipes.rehearse``."""

    id: Name
    step: Name
    replies: Annotated[tuple[AnyText, ...], Meta(max_length=100)]
    working_directory: Directory | None = None


class TrustRecipes(_Params):
    """``recipes.trust``; without ``digests`` every recipe of the project as it is now."""

    working_directory: Directory
    digests: dict[Name, Digest] | None = None


class RunStart(_Params):
    """``runs.start``; the fields of the service's ``StartRun``."""

    recipe: Name
    working_directory: Directory
    session_id: Id | None = None
    params: dict[Name, AnyText | int | float | bool] = {}
    agent: Name | None = None
    model: ModelName | None = None
    script: File | None = None
    worktree: bool = False
    anyway: bool = False
    on_question: Literal["ask", "wait", "fail"] = "wait"
    client_token: Token | None = None


class OneRun(_Params):
    """Methods that need only a run."""

    run_id: Id


class DiffRun(_Params):
    """``runs.diff``; with ``patch`` also line by line."""

    run_id: Id
    patch: bool = True


class RemoveWorktree(_Params):
    """``worktrees.remove``; with ``force`` also what would be lost."""

    run_id: Id
    force: bool = False


class ListRuns(_Params):
    """``runs.list``."""

    active: bool | None = None
    limit: PageSize = 100
    before: Id | None = None


class RunEvents(_Params):
    """``runs.events``."""

    run_id: Id
    after_seq: Position = 0
    follow: bool = False


class Steer(_Params):
    """``runs.steer``."""

    run_id: Id
    text: Text


class Answer(_Params):
    """``questions.answer``."""

    question_id: Id
    answer: Text
    note: AnyText | None = None


class Prompt(_Params):
    """``sessions.prompt``; the fields of the service's ``SendPrompt``."""

    text: Text
    session_id: Id | None = None
    working_directory: Directory | None = None
    agent: Name | None = None
    model: ModelName | None = None
    script: File | None = None
    if_busy: Literal["refuse", "queue", "steer"] = "refuse"
    fork: bool = False
    take_over: bool = False
    wait: bool = False
    permission_mode: Name | None = None
    client_token: Token | None = None


class OneSession(_Params):
    """Methods that need only a session."""

    session_id: Id


class ListSessions(_Params):
    """``sessions.list``."""

    working_directory: Directory | None = None
    limit: PageSize = 50
    before: Time | None = None


class SessionMessages(_Params):
    """``sessions.messages`` and ``sessions.subscribe``."""

    session_id: Id
    after_seq: Position | None = None
    limit: PageSize = 100


class Subscribe(_Params):
    """``events.subscribe``."""

    types: tuple[EventType, ...] | None = None
    after: Position | None = None


class Pair(_Params):
    """``gateway.pair``; without a name it is 'phone', or 'phone-2' and so on."""

    name: DeviceName | None = None
    png: bool = False


class Revoke(_Params):
    """``gateway.revoke``."""

    device: DeviceName


def fault_of(kind: type[msgspec.Struct], given: Mapping[str, Any]) -> tuple[str, str]:
    """Find the parameter that keeps ``given`` from being a ``kind``, and the words for it."""
    kinds = get_type_hints(kind, include_extras=True)
    for name in given:
        if name not in kinds:
            hint = nearest(name, kinds) if kinds else "this method takes none"
            return name[:100], f"unknown parameter {quoted(name)}; {hint}"
    for field in msgspec.structs.fields(kind):
        name = field.name
        if name not in given:
            if field.required:
                return name, f"missing parameter '{name}': expected {expected(kinds[name])}"
            continue
        try:
            convert(given[name], kinds[name])
        except ValueError as error:
            return name, f"parameter '{name}': {error}"
    return "params", "the parameters do not fit together"


def check_agent_text(parameter: str, text: str) -> None:
    """Refuse a text that could not be handed to an agent in one piece.

    Raises InvalidParameter.
    """
    size = len(msgspec.json.encode(text)) + _AGENT_LINE_FRAME
    if size > LONGEST_AGENT_LINE:
        raise InvalidParameter(
            parameter,
            f"Invalid params: parameter '{parameter}' is {size} bytes long as the agent gets it; "
            f"at most {LONGEST_AGENT_LINE} fit; attach it as a file: save it in the working "
            "directory and name the file in the prompt.",
        )
