"""Each method reaches its part of the service with its parameters, and brings its answer back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from podiumd.core.run.history import HistoryPlace
from podiumd.rpc import params
from podiumd.rpc.methods import METHODS
from podiumd.runtime.api import SendPrompt, StartRun
from podiumd.wire import declared
from podiumd.wire.runs import OneRun, RunStart
from podiumd.wire.sessions import Prompt
from tests.rpc.harness import served

RUN = {"run_id": "run-1", "status": "running"}
CASES: list[tuple[str, dict[str, Any], Any, Any]] = [
    (
        "questions.answer",
        {"question_id": "q", "answer": "yes", "note": "n"},
        ("answer", ("q", "yes", "n", "local")),
        {"question_id": "q", "answer": "yes"},
    ),
    (
        "recipes.check",
        {"path": "/p/r.toml"},
        ("recipes_check", ("/p/r.toml", None, None, None)),
        {"ok": True},
    ),
    (
        "recipes.check",
        {"text": "", "working_directory": "/p"},
        ("recipes_check", (None, "", None, "/p")),
        {"ok": True},
    ),
    (
        "recipes.check",
        {"id": "user.r"},
        ("recipes_check", (None, None, "user.r", None)),
        {"ok": True},
    ),
    (
        "recipes.graph",
        {"id": "r", "format": "dot", "working_directory": "/p"},
        ("recipes_graph", ("r", "dot", "/p")),
        {"text": "dot"},
    ),
    (
        "recipes.trust",
        {"working_directory": "/p", "digests": {"r": "0" * 64}},
        ("recipes_trust", ("/p", {"r": "0" * 64})),
        [],
    ),
    (
        "runs.history",
        {"run_id": "run-1", "after": {"seq": 3, "number": 1}},
        ("run_history", ("run-1", HistoryPlace(3, 1))),
        [],
    ),
    (
        "runs.rename",
        {"run_id": "run-1", "title": "Second try"},
        ("rename", ("run-1", "Second try")),
        {"run_id": "run-1", "name": "Second try"},
    ),
    (
        "storage.prune",
        {"what": ["marks"], "dry_run": True},
        ("prune", (["marks"], True, False)),
        {"dry_run": True, "parts": [], "vacuumed": None},
    ),
    ("runs.list", {"active": True, "limit": 1}, ("list_runs", (True, 1, None)), [RUN]),
    ("runs.list", {"before": "1a2b"}, ("list_runs", (None, 100, "1a2b")), [RUN]),
    (
        "runs.start",
        {"recipe": "r", "working_directory": "/p", "params": {"issue": "x", "n": 1, "b": True}},
        (
            "start_run",
            StartRun(recipe="r", working_directory="/p", params={"issue": "x", "n": 1, "b": True}),
        ),
        {"run_id": "run-2"},
    ),
    (
        "sessions.prompt",
        {"text": "hi", "session_id": None, "if_busy": "queue", "permission_mode": "plan"},
        ("prompt", SendPrompt(text="hi", if_busy="queue", permission_mode="plan")),
        {"session_id": "s-1", "turn_id": "t-1", "run_id": "run-3"},
    ),
]


async def test_a_method_hands_on_its_parameters(tmp_path: Path) -> None:
    """Those of ``tests/recorded``, which have an answer of every method, apart."""
    async with served(tmp_path) as daemon, daemon.client() as client:
        for method, given, call, result in CASES:
            assert await client.result(method, **given) == result, method
            assert daemon.service.calls.pop() == call


@pytest.mark.parametrize("model", ["", "a model", "-x", "m" * 201, "m\n"])
@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("runs.start", {"recipe": "r", "working_directory": "/p"}),
        ("sessions.prompt", {"text": "hi", "working_directory": "/p"}),
    ],
)
async def test_a_model_that_no_agent_could_take_is_refused_by_name(
    method: str, given: dict[str, Any], model: str, tmp_path: Path
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.result(method, **given, model="us.anthropic/claude-5:0@eu[1m]")
        error = (await client.call(method, **given, model=model))["error"]
        assert (error["code"], error["data"]["parameter"]) == (-32602, "model")


@pytest.mark.parametrize(
    ("method", "given", "code", "data"),
    [
        ("runs.get", {"run_id": "nope"}, -32002, {"kind": "run", "id": "nope"}),
        ("runs.events", {"run_id": "nope"}, -32002, {"kind": "run", "id": "nope"}),
        (
            "questions.answer",
            {"question_id": "answered", "answer": "yes"},
            -32004,
            {"id": "answered", "by": "phone"},
        ),
        (
            "questions.answer",
            {"question_id": "q", "answer": "perhaps"},
            -32602,
            {"parameter": "answer"},
        ),
        (
            "sessions.prompt",
            {"text": "hi", "session_id": "held"},
            -32001,
            {
                "session_id": "held",
                "holder": {"kind": "run", "id": "run-1", "since": "2026-01-01T00:00:00.000Z"},
            },
        ),
    ],
)
async def test_a_refusal_of_the_service_reaches_the_client(
    method: str, given: dict[str, Any], code: int, data: Any, tmp_path: Path
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        error = (await client.call(method, **given))["error"]
        assert (error["code"], error["data"]) == (code, data) and error["message"].endswith(".")


@pytest.mark.parametrize(
    ("ours", "theirs", "for_gateways"),
    [
        (RunStart, StartRun, {"new_session_id"}),
        (Prompt, SendPrompt, {"new_session_id", "system_prompt"}),
    ],
)
def test_what_is_checked_here_is_what_the_service_takes(
    ours: type[msgspec.Struct], theirs: type[msgspec.Struct], for_gateways: set[str]
) -> None:
    """Same names, same defaults, but for what only a gateway may ask for."""

    def fields(kind: type[msgspec.Struct]) -> dict[str, Any]:
        example = {field.name: "/x" for field in msgspec.structs.fields(kind) if field.required}
        return msgspec.structs.asdict(kind(**example))

    taken = fields(theirs)
    assert for_gateways <= taken.keys()
    assert fields(ours) == {name: taken[name] for name in taken.keys() - for_gateways}


def test_a_prompt_over_the_socket_cannot_be_delivered_as_a_gateway_does() -> None:
    """Each choice of the socket is one of the service's; ``deliver`` alone is the gateway's."""
    ours, theirs = (get_type_hints(kind)["if_busy"] for kind in (Prompt, SendPrompt))
    assert set(get_args(theirs)) - set(get_args(ours)) == {"deliver"}
    assert set(get_args(ours)) <= set(get_args(theirs))


def test_the_table_of_methods_is_sorted_and_documented() -> None:
    names = [method.name for method in METHODS]
    assert names == sorted(names) and len(set(names)) == len(names)
    assert all(method.doc.endswith(".") and method.params.__doc__ for method in METHODS)


def test_every_declared_method_has_a_handler_and_every_handler_a_declaration() -> None:
    assert [method.name for method in METHODS] == [method.name for method in declared.METHODS]
    assert [method.params for method in METHODS] == [method.params for method in declared.METHODS]


def test_parameters_that_are_right_have_no_fault() -> None:
    """The careful way is asked only about what failed; it never blames the innocent."""
    assert params.fault_of(OneRun, {"run_id": "r"}, lambda *_: "")[0] == "params"
