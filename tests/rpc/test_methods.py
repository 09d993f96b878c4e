"""Each method reaches its part of the service with its parameters, and brings its answer back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from podiumd.config.load import ConfigError
from podiumd.config.paths import PlaceError
from podiumd.config.settings import Config
from podiumd.core.run import facts as f
from podiumd.core.run.history import HistoryPlace
from podiumd.rpc import params
from podiumd.rpc.adapter import Adapter, Method
from podiumd.rpc.context import RequestContext
from podiumd.rpc.methods import METHODS
from podiumd.runtime.api import SendPrompt, StartRun
from podiumd.runtime.errors import InvalidParameter, NotFound, Refused
from podiumd.store.errors import StoreFailed, StoreFull
from podiumd.wire import declared
from podiumd.wire.daemon import Reloaded
from podiumd.wire.fields import Nothing
from podiumd.wire.gateway import Device, GatewayStatus, Invitation, Pairing
from podiumd.wire.method import Scope
from podiumd.wire.runs import OneRun, RunStart
from podiumd.wire.sessions import Prompt
from tests.plain import plain
from tests.rpc.bare import NoSettings, bare_info
from tests.rpc.fake_service import FakeService
from tests.rpc.harness import served, wait_until

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


# -- Sessions over the socket: what is asked of the service, and feeds that are ended by name --


async def test_every_method_hands_its_parameters_on_with_their_defaults(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.result("sessions.list")
        await client.result("sessions.list", working_directory="/x", limit=5, before="2026-01-01Z")
        assert await client.result("sessions.get", session_id="s") == {"session_id": "s"}
        await client.result("sessions.messages", session_id="s")
        await client.result("sessions.messages", session_id="s", after_seq=7, limit=9)
        assert await client.result("sessions.forget", session_id="s") == {}
        assert daemon.service.calls == [
            ("sessions_list", (None, 50, None)),
            ("sessions_list", ("/x", 5, "2026-01-01Z")),
            ("sessions_get", "s"),
            ("sessions_messages", ("s", None, 100)),
            ("sessions_messages", ("s", 7, 9)),
            ("sessions_forget", "s"),
        ]


async def test_a_subscription_is_answered_by_a_page_and_followed_by_notifications(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        daemon.service.publish(f.StepEntered)
        page = await client.result("sessions.subscribe", session_id="s", after_seq=1)
        assert page == {"messages": [], "next_seq": 1}
        daemon.service.publish(f.StepEntered)
        message = await client.message()
        assert (message["method"], message["params"]["seq"]) == ("session.messages", 2)


async def test_unsubscribing_ends_that_session_and_no_other(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.result("sessions.subscribe", session_id="one")
        await client.result("sessions.subscribe", session_id="two")
        assert await client.result("sessions.unsubscribe", session_id="one") == {}
        await wait_until(lambda: daemon.service.open_feeds == 1)
        daemon.service.publish(f.StepEntered)
        assert (await client.message())["method"] == "session.messages"
        assert await client.result("sessions.unsubscribe", session_id="two") == {}
        await wait_until(lambda: daemon.service.open_feeds == 0)
        assert await client.result("sessions.unsubscribe", session_id="two") == {}


async def test_subscribing_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        for _ in range(3):
            await client.result("sessions.subscribe", session_id="s")
        await wait_until(lambda: daemon.service.open_feeds == 1)


async def test_summing_up_answers_when_it_is_over_and_holds_nobody_up(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client, daemon.client() as other:
        await client.send(
            b'{"jsonrpc":"2.0","id":5,"method":"sessions.compact","params":{"session_id":"s"}}\n'
        )
        assert await client.result("daemon.ping") == {"pong": True}
        assert await other.result("daemon.ping") == {"pong": True}
        daemon.service.gate.set()
        assert (await client.message())["id"] == 5


# -- The configuration over the socket --


class Kept(NoSettings):
    """Settings of which a test says how reading them ends."""

    fault: Exception | None = None

    async def reload(self) -> Reloaded:
        if self.fault is not None:
            raise self.fault
        return Reloaded(changed=("a.b",), pending=(), restart="again")


async def ask(method: str, settings: Any) -> Any:
    info = bare_info(settings=settings)
    handler = next(one.handler for one in METHODS if one.name == method)
    service: Any = FakeService()
    host: Any = None
    return await handler(RequestContext(service, info, host), Nothing())


async def test_reload_answers_with_what_changed() -> None:
    answer = await ask("daemon.reload", Kept())
    assert answer == Reloaded(changed=("a.b",), pending=(), restart="again")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ConfigError(["c:1: one"]), "stays in force: c:1: one"),
        (ConfigError(["c:1: one", "c:2: two", "c:3"]), "stays in force: c:1: one (and 2 more)"),
        (PlaceError("too long"), "stays in force: too long"),
    ],
)
async def test_a_file_that_cannot_be_used_is_a_refusal_that_names_the_fault(
    fault: Exception, words: str
) -> None:
    settings = Kept()
    settings.fault = fault
    with pytest.raises(Refused) as refusal:
        await ask("daemon.reload", settings)
    assert refusal.value.message.endswith(words)


async def test_status_holds_the_bounds_and_the_state_of_the_file(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        status = await client.result("daemon.status")
        assert (status["configuration"]["path"], status["configuration"]["pending"]) == (None, [])
        assert status["limits"]["max_agents"] == Config().limits.max_agents
        assert status["retention"]["runs_days"] == Config().retention.runs_days
        document = await client.result("daemon.configuration")
        assert document == status["configuration"] | {"values": []}
        answer = await client.call("daemon.reload")
        assert answer["error"]["code"] == -32006


# -- ``gateway.*``: what reaches the gateway, and what a daemon without one says --


Json = dict[str, Any]

ROW = Device(
    device="phone",
    name="phone",
    paired_at="2026-01-01T00:00:00.000Z",
    last_seen=None,
    connected=False,
    kind="phone",
    scope="all",
)


class FakeGateway:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def status(self) -> GatewayStatus:
        url = "ws://127.0.0.1:8080"
        return GatewayStatus(enabled=True, url=url, clients=2, problem=None, warning=None)

    async def pair(self, name: str | None, png: bool) -> Pairing:
        self.asked.append((name, png))
        if name == "taken":
            raise InvalidParameter("name", "Taken.")
        return Pairing(
            device=name or "phone",
            url="ws://127.0.0.1:8080",
            key="K",
            qr="Q",
            ways=(),
            trust=None,
            fingerprint=None,
            warning=None,
        )

    def invite(self, name: str | None, png: bool, scope: Scope) -> Invitation:
        self.asked.append((name, png, scope))
        return Invitation(
            url="http://127.0.0.1:8080/pair#T",
            code="ABCD-EFGH",
            scope=scope,
            url_minutes=10,
            code_minutes=5,
            qr="Q",
            ways=(),
            trust=None,
            fingerprint=None,
            warning=None,
        )

    async def rescope(self, device: str, scope: Scope) -> None:
        self.asked.append((device, scope))

    async def release(self) -> str:
        return "0123"

    def devices(self) -> list[Device]:
        return [ROW]

    async def revoke(self, device: str) -> None:
        self.asked.append(device)
        if device == "lost":
            raise NotFound("device", device)


async def test_the_methods_reach_the_gateway_and_bring_its_answers_back(tmp_path: Path) -> None:
    gateway = FakeGateway()
    async with served(tmp_path, gateway=gateway) as daemon, daemon.client() as client:
        assert (await client.result("daemon.status"))["gateway"] == plain(gateway.status())
        paired = await client.result("gateway.pair")
        assert (paired["device"], paired["key"]) == ("phone", "K")
        assert (await client.result("gateway.pair", name="Ada ☎", png=True))["device"] == "Ada ☎"
        assert await client.result("gateway.devices") == [plain(ROW)]
        invited = await client.result("gateway.pair", kind="web", scope="look")
        assert (invited["scope"], invited["code"]) == ("look", "ABCD-EFGH")
        assert await client.result("gateway.scope", device="tab", scope="all") == {}
        assert await client.result("gateway.revoke", device="phone") == {}
        asked: list[Any] = [(None, False), ("Ada ☎", True)]
        assert gateway.asked == [*asked, (None, False, "look"), ("tab", "all"), "phone"]
        greeting = await client.result("client.hello")
        assert [greeting[name] for name in ("device", "scope", "release")] == [
            "local",
            "all",
            "0123",
        ]


@pytest.mark.parametrize(
    ("method", "given", "code", "data"),
    [
        ("gateway.pair", {"name": "taken"}, -32602, {"parameter": "name"}),
        ("gateway.revoke", {"device": "lost"}, -32002, {"kind": "device", "id": "lost"}),
    ],
)
async def test_a_refusal_of_the_gateway_reaches_the_client(
    method: str, given: Json, code: int, data: Json, tmp_path: Path
) -> None:
    async with served(tmp_path, gateway=FakeGateway()) as daemon, daemon.client() as client:
        error = (await client.call(method, **given))["error"]
        assert (error["code"], error["data"]) == (code, data)


@pytest.mark.parametrize(
    ("method", "given", "parameter"),
    [
        ("gateway.pair", {"name": ""}, "name"),
        ("gateway.pair", {"name": "a" * 65}, "name"),
        ("gateway.pair", {"name": 1}, "name"),
        ("gateway.pair", {"png": "yes"}, "png"),
        ("gateway.pair", {"device": "phone"}, "device"),
        ("gateway.revoke", {}, "device"),
        ("gateway.revoke", {"device": None}, "device"),
    ],
)
async def test_a_wrong_parameter_is_named_before_the_gateway_is_asked(
    method: str, given: Json, parameter: str, tmp_path: Path
) -> None:
    gateway = FakeGateway()
    async with served(tmp_path, gateway=gateway) as daemon, daemon.client() as client:
        error = (await client.call(method, **given))["error"]
        assert (error["code"], error["data"]["parameter"]) == (-32602, parameter)
        assert gateway.asked == []


async def test_a_daemon_without_a_gateway_has_no_devices_and_pairs_none(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        assert await client.result("gateway.devices") == []
        assert (await client.call("gateway.pair"))["error"]["code"] == -32006
        assert (await client.call("gateway.revoke", device="phone"))["error"]["code"] == -32002


# -- What a client is told when nothing can be stored --


async def full(context: None, params: Nothing) -> None:
    raise StoreFull(Path("facts.db"), "facts.db: no space left to store this.")


async def broken(context: None, params: Nothing) -> None:
    raise StoreFailed(Path("facts.db"), "facts.db: the database refused (SECRET)")


ADAPTER: Adapter[None] = Adapter(
    [Method("broken", Nothing, broken, ""), Method("full", Nothing, full, "")],
    batch_entries=10,
    batch_bytes=1000,
)


async def answer(method: str) -> dict[str, object]:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode()
    work = ADAPTER.read(line)
    reply = await work.run(None)
    assert reply is not None
    error: dict[str, object] = msgspec.json.decode(reply)["error"]
    return error


async def test_a_full_disk_is_said_and_when_to_try_again() -> None:
    error = await answer("full")

    assert (error["code"], error["data"]) == (-32008, {"retry_after_ms": 5000})
    assert "Free some space" in str(error["message"])


@pytest.mark.parametrize("method", ["broken"])
async def test_any_other_fault_of_the_store_is_only_an_id_in_the_log(method: str) -> None:
    error = await answer(method)

    assert error["code"] == -32603
    assert "SECRET" not in str(error)
