"""The routes there are, and how what is refused is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podiumd.agents.claude.kind import CLAUDE
from podiumd.gateway.routes.table import STATUS, problem_of
from podiumd.runtime.errors import (
    AgentUnavailable,
    AlreadyEnded,
    NotFound,
    NotPermitted,
    OrchestrationDisabled,
    Overloaded,
    PodiumError,
    Refused,
    UnknownAgent,
    unknown_agent,
)
from podiumd.store.errors import StoreFull
from tests.gateway.routes.station import Station
from tests.plain import plain


async def test_an_unknown_path_is_not_found_and_the_known_ones_are_named(station: Station) -> None:
    told = (await station.get("/v1/prompts")).problem(404)
    assert "'/v1/prompts'" in told["detail"] and "/v1/prompt." in told["detail"]
    assert "/healthz" in told["detail"]


async def test_another_method_is_refused_and_the_right_one_named(station: Station) -> None:
    cases = [
        ("GET", "/v1/prompt", "POST"),
        ("PUT", "/upload", "POST"),
        ("OPTIONS", "/v1/audio/transcriptions", "POST"),
        ("POST", "/metrics", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
    ]
    for method, path, allowed in cases:
        answer = await station.ask(method, path)
        answer.problem(405)
        assert answer.headers["allow"] == allowed


async def test_metrics_are_rows_of_declared_types_and_the_devices_name_is_not_among_them(
    station: Station,
) -> None:
    await station.daemon.prompt()
    turn = await station.daemon.turn()
    answer = await station.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = answer.body.decode()
    declared = re.findall(r"^# TYPE (podium_\w+) (?:gauge|counter|histogram)$", text, re.MULTILINE)
    rows = dict(re.findall(r"^(podium_\w+(?:\{.+\})?) (\S+)$", text, re.MULTILINE))
    assert len(rows) + text.count("# ") == text.count("\n") and text.endswith("\n")
    for name in rows:
        plain = name.partition("{")[0]
        assert {plain, re.sub("_(bucket|sum|count)$", "", plain)} & set(declared), name
    assert all(float(value) >= 0 for value in rows.values())
    asked = ("sessions", "runs_active", "prompts_active", "questions_open")
    assert [rows[f"podium_{name}"] for name in asked] == ["0", "0", "1", "0"]
    assert "mine" not in text
    head = await station.ask("HEAD", "/metrics")
    assert (head.status, head.body) == (200, b"")
    turn.complete()


async def test_a_full_disk_is_told_as_such(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_: object) -> None:
        raise StoreFull(Path("facts.db"), "facts.db: no space left.")

    monkeypatch.setattr(station.daemon.service, "prompt", full)
    answer = await station.post("/v1/prompt", {"text": "Hi", "working_directory": "/"})
    assert "try again" in answer.problem(503)["detail"]
    assert b"facts.db" not in answer.body


@pytest.mark.parametrize(
    ("refusal", "status", "title"),
    [
        (NotFound("session", "x"), 404, "Not found"),
        (AlreadyEnded("It is over.", id="x", by="ann"), 409, "Already ended"),
        (AgentUnavailable("claude", "gone", "Install it."), 503, "Agent unavailable"),
        (unknown_agent("cloude", ["claude"]), 422, "Unknown agent"),
        (OrchestrationDisabled(), 409, "Orchestration disabled"),
        (Overloaded("Later.", 2500), 503, "Overloaded"),
        (PodiumError("Odd."), 500, "Podium error"),
    ],
)
def test_a_refusal_of_the_daemon_is_a_problem_with_its_data(
    refusal: PodiumError, status: int, title: str
) -> None:
    problem = problem_of(refusal)
    assert (problem.status, problem.title, problem.detail) == (status, title, refusal.message)
    assert plain(problem.more) == plain(refusal.data)
    assert not plain(refusal.data).keys() & {"type", "title", "status", "detail"}


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [
        pytest.param(
            Refused("No repository.", fix="Start it in a repository (--cwd DIR)."),
            "Start it in a repository ('working_directory').",
            id="place",
        ),
        pytest.param(
            Refused(
                "Home.", fix="Start it in a project (--cwd DIR), or with --anyway if you mean that."
            ),
            "Start it in a project ('working_directory').",
            id="odd place",
        ),
        pytest.param(
            AgentUnavailable("demo", "no such agent.", "Say so: --agent a or --agent b."),
            'Say so: "agent": "a" or "agent": "b".',
            id="agent",
        ),
        pytest.param(
            AgentUnavailable("claude", "not there.", CLAUDE.remedy.format(agent="claude")),
            CLAUDE.remedy.format(agent="claude").replace("'--agent native'", '"agent": "native"'),
            id="quoted agent",
        ),
        pytest.param(
            AgentUnavailable(
                "scripted", "no script.", "Write a file and name that: --script FILE."
            ),
            "Write a file and name that: 'podium run --script FILE'.",
            id="script",
        ),
    ],
)
def test_advice_names_fields_of_requests_and_no_flags_of_the_command_line(
    refusal: PodiumError, fix: str
) -> None:
    problem = problem_of(refusal)
    assert problem.more["fix"] == fix and "--" not in problem.detail.replace("run --script", "")
    assert fix in problem.detail or isinstance(refusal, Refused)


def test_who_is_overloaded_says_when_to_come_again() -> None:
    assert problem_of(Overloaded("Later.", 2500)).headers == (("Retry-After", "2"),)
    assert problem_of(Overloaded("Later.", 10)).headers == (("Retry-After", "1"),)


def test_every_kind_of_refusal_has_a_status() -> None:
    only_over_rpc = {NotPermitted}
    assert set(STATUS) == {*PodiumError.__subclasses__(), UnknownAgent} - only_over_rpc
