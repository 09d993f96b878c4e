"""The socket: framing, order, feeds, limits, who is let in, and how it ends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.rpc.limits import RpcLimits
from podiumd.rpc.listener import listening
from podiumd.rpc.outbox import Outbox
from tests.patience import HANG_SECONDS
from tests.rpc.harness import PING, request, served, wait_until


async def test_ping_is_answered_on_one_line(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.send(PING + b"\n")
        assert await client.line() == b'{"jsonrpc":"2.0","result":{"pong":true},"id":1}'


async def test_status_joins_the_daemon_and_the_service(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        status = await client.result("daemon.status")
        assert status["version"] == "1.2.3" and status["pid"] == os.getpid()
        assert status["socket"] == str(daemon.path)
        assert status["gateway"] == {
            "enabled": False,
            "url": None,
            "clients": 0,
            "problem": None,
            "warning": None,
        }
        assert status["voice"] == {"state": "off", "model": None, "engine": None, "problem": None}
        assert status["runs_active"] == 1 and status["orchestration"] == {"enabled": True}


async def test_shutdown_is_answered_and_passed_on(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        assert await client.result("daemon.shutdown") == {}
        assert await client.result("daemon.shutdown", turns="interrupt") == {}
        assert daemon.shutdowns == ["leave", "interrupt"]


@pytest.mark.parametrize("size", [1, 7, 64])
async def test_a_line_may_arrive_in_pieces_of_any_size(tmp_path: Path, size: int) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        data = (PING + b"\r\n") * 3
        for start in range(0, len(data), size):
            await client.send(data[start : start + size])
        for _ in range(3):
            assert (await client.message())["result"] == {"pong": True}


async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        methods = ["daemon.ping", "runs.get", "daemon.status", "questions.list"]
        lines = [
            request(methods[n % 4], n, **({"run_id": "run-1"} if n % 4 == 1 else {}))
            for n in range(400)
        ]
        await client.send(b"\n".join(lines) + b"\n")
        assert [(await client.message())["id"] for _ in range(400)] == list(range(400))


async def test_a_waiting_request_does_not_hold_up_the_next(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.send(request("runs.cancel", "slow", run_id="run-1") + b"\n")
        assert (await client.ask(PING))["id"] == 1
        daemon.service.gate.set()
        assert (await client.message())["id"] == "slow"


async def test_answers_do_not_wait_for_a_later_request_that_is_held_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = trio.Event()

    async def held_up(*parameters: Any) -> list[Any]:
        await gate.wait()
        return []

    async with served(tmp_path) as daemon, daemon.client() as client:
        monkeypatch.setattr(daemon.service, "list_runs", held_up)
        for n in range(3):
            gate = trio.Event()
            await client.send(
                PING + b"\n" + request("runs.list", f"held-{n}") + b"\n" + PING + b"\n"
            )
            assert (await client.message())["id"] == 1
            gate.set()
            assert [(await client.message())["id"] for _ in range(2)] == [f"held-{n}", 1]


async def test_a_client_that_always_has_more_to_say_lets_others_have_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other client's request comes while the first of many is handled."""
    monkeypatch.setattr("podiumd.rpc.socket_connection._CHUNK_BYTES", 1024)
    monkeypatch.setattr("podiumd.rpc.socket_connection._TURN_BYTES", 2048)
    many = (request("runs.list") + b"\n") * 500
    async with served(tmp_path) as daemon, daemon.client() as busy, daemon.client() as other:
        service = daemon.service
        await busy.result("daemon.ping")
        await other.result("daemon.ping")

        async def list_runs(*parameters: Any) -> list[Any]:
            if not service.calls:
                os.write(other.stream.socket.fileno(), request("runs.get", run_id="run-1") + b"\n")
            service.calls.append(("list_runs", None))
            return []

        monkeypatch.setattr(service, "list_runs", list_runs)
        assert os.write(busy.stream.socket.fileno(), many) == len(many)
        await wait_until(lambda: len(service.calls) == 501)
        assert service.calls.index(("whole_run", "run-1")) < 250


async def test_a_half_closed_client_gets_its_answers(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.send(request("sessions.prompt", 1, text="hi", wait=True) + b"\n" + PING)
        await client.stream.send_eof()
        assert (await client.message())["result"] == {"pong": True}
        daemon.service.gate.set()
        assert (await client.message())["result"]["turn_id"] == "t-1"
        assert await client.line() is None


async def test_a_client_that_leaves_at_once_is_still_obeyed(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon:
        async with daemon.client() as client:
            await client.send(request("runs.interrupt", run_id="run-1") + b"\n")
        await wait_until(lambda: daemon.service.calls and daemon.server.connections == 0)
        assert daemon.service.calls == [("interrupt", "run-1")]


async def test_of_a_client_that_has_gone_only_what_acts_is_done(tmp_path: Path) -> None:
    """Many batches of it are in the socket before it is accepted; none of them makes an answer."""
    reads = [json.loads(request("runs.get", n, run_id="run-1")) for n in range(20)]
    acts = json.loads(request("runs.pause", 99, run_id="run-1"))
    line = json.dumps([*reads, {**reads[0], "method": "runs.gte"}, acts]).encode() + b"\n"
    async with served(tmp_path, RpcLimits(requests=4)) as daemon:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(daemon.path))
            client.sendall(line * 3 + request("runs.get", run_id="run-1") + b"\n")
        await wait_until(lambda: daemon.service.calls)
        await wait_until(lambda: daemon.server.connections == 0)
        assert daemon.service.calls == [("pause", "run-1")] * 3


async def test_what_the_batches_of_a_connection_have_at_work_is_bounded(tmp_path: Path) -> None:
    """As soon as one has ended there is room for the next."""
    batch = b"[" + b",".join(request("runs.cancel", n, run_id="run-1") for n in range(2)) + b"]"
    async with served(tmp_path, RpcLimits(entries=4)) as daemon, daemon.client() as client:
        refused = await client.ask(batch + b"\n" + batch + b"\n" + batch)
        assert [one["error"]["code"] for one in refused] == [-32008] * 2
        await wait_until(lambda: len(daemon.service.calls) == 4)
        daemon.service.gate.set()
        for _ in range(2):
            assert all("result" in one for one in await client.message())
        assert all("result" in one for one in await client.ask(batch))


async def test_a_line_over_the_limit_is_answered_and_the_connection_closed(tmp_path: Path) -> None:
    async with served(tmp_path, RpcLimits(line_bytes=100_000)) as daemon:
        async with daemon.client() as client:
            await client.send(b'{"x":"' + b"a" * 1_000_000)
            answer = await client.message()
            assert (
                answer["error"]["code"] == -32600 and "100000 bytes" in answer["error"]["message"]
            )
            assert answer["id"] is None
            assert await client.line() is None
        async with daemon.client() as other:
            assert await other.result("daemon.ping") == {"pong": True}


async def test_waiting_requests_of_a_connection_are_bounded(tmp_path: Path) -> None:
    async with served(tmp_path, RpcLimits(requests=2)) as daemon, daemon.client() as client:
        for n in range(3):
            await client.send(request("runs.cancel", n, run_id="run-1") + b"\n")
        refused = await client.message()
        assert refused["id"] == 2 and refused["error"]["code"] == -32008
        assert refused["error"]["data"] == {"retry_after_ms": 1000}
        batch = b"[" + request("daemon.ping", 8) + b"," + request("daemon.ping", 9) + b"]"
        assert [answer["error"]["code"] for answer in await client.ask(batch)] == [-32008, -32008]
        daemon.service.gate.set()
        assert {(await client.message())["id"] for _ in range(2)} == {0, 1}


async def test_a_client_that_does_not_read_bounds_the_memory_it_costs(tmp_path: Path) -> None:
    """Its requests are no longer read once its outbox is full; when it reads again, all come."""
    async with (
        served(tmp_path, RpcLimits(outbox_bytes=10_000)) as daemon,
        daemon.client() as client,
    ):
        daemon.service.runs["run-1"]["text"] = "x" * 50_000
        async with trio.open_nursery() as nursery:
            data = b"".join(request("runs.get", n, run_id="run-1") + b"\n" for n in range(200))
            nursery.start_soon(client.send, data)
            await trio.testing.wait_all_tasks_blocked()
            assert len(daemon.service.calls) < 50
            for n in range(200):
                assert (await client.message())["id"] == n


async def test_refusals_and_waiting_answers_that_nobody_reads_are_bounded_too(
    tmp_path: Path,
) -> None:
    limits = RpcLimits(outbox_bytes=10_000, requests=1)
    async with served(tmp_path, limits) as daemon, daemon.client() as client:
        async with trio.open_nursery() as nursery:
            line = request("runs.cancel", "x" * 1000, run_id="run-1") + b"\n"
            nursery.start_soon(client.send, line * 2000)
            await trio.testing.wait_all_tasks_blocked()
            (connection,) = daemon.server._connections
            assert isinstance(connection._outbox, Outbox)
            assert len(connection._outbox._pending) < 50_000
            for _ in range(1999):
                assert (await client.message())["error"]["code"] == -32008
        daemon.service.gate.set()
        assert "result" in await client.message()


async def test_a_fault_in_a_connection_ends_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as other:
        assert await other.result("daemon.ping") == {"pong": True}
        with monkeypatch.context() as patch:

            def fail(self: object, chunk: bytes) -> list[bytes]:
                raise RuntimeError("planted")

            patch.setattr("podiumd.rpc.lines.LineSplitter.feed", fail)
            async with daemon.client() as client:
                await client.send(PING + b"\n")
                assert await client.line() is None
        assert await other.result("daemon.ping") == {"pong": True}


async def test_stopping_tells_clients_and_finishes_requests_in_hand(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client, daemon.client() as idle:
        await client.send(request("runs.cancel", 7, run_id="run-1") + b"\n")
        assert await idle.result("events.subscribe") == {"pos": 0}
        await wait_until(lambda: daemon.service.calls)
        daemon.service.close()
        daemon.server.stop()
        assert await idle.message() == {
            "jsonrpc": "2.0",
            "method": "daemon.stopping",
            "params": {"turns": "leave"},
        }
        assert await idle.line() is None
        assert (await client.message())["method"] == "daemon.stopping"
        daemon.service.gate.set()
        assert (await client.message())["id"] == 7
        assert await client.line() is None


async def test_stopping_does_not_wait_for_ever(tmp_path: Path) -> None:
    limits = RpcLimits(drain_seconds=0.01)
    async with served(tmp_path, limits) as daemon, daemon.client() as client:
        await client.send(request("runs.cancel", 7, run_id="run-1") + b"\n")
        await wait_until(lambda: daemon.service.calls)
        daemon.server.stop()
        assert (await client.message())["method"] == "daemon.stopping"
        assert await client.line() is None


async def test_a_feed_that_does_not_end_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    limits = RpcLimits(drain_seconds=0.01)
    async with served(tmp_path, limits) as daemon, daemon.client() as client:
        await client.result("events.subscribe")
        daemon.server.stop()
        assert (await client.message())["method"] == "daemon.stopping"
        assert await client.line() is None


async def test_nobody_is_let_in_while_the_daemon_stops(tmp_path: Path) -> None:
    """Who comes then is told at once that nobody is there, and does not wait for an answer."""
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.send(request("runs.cancel", 7, run_id="run-1") + b"\n")
        await wait_until(lambda: daemon.service.calls)
        daemon.server.stop()
        assert (await client.message())["method"] == "daemon.stopping"
        with pytest.raises(ConnectionRefusedError):
            await trio.open_unix_socket(str(daemon.path))
        daemon.service.gate.set()
        assert (await client.message())["id"] == 7


async def test_another_user_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path, own_uid=os.getuid() + 1) as daemon, daemon.client() as client:
        refused = await client.message()
        assert refused["error"]["code"] == -32006
        assert await client.line() is None


async def test_another_user_is_refused_by_the_kernels_word(tmp_path: Path) -> None:
    """Even where file modes let it in. Only root can become somebody else: anybody else has the
    server expect another user than itself."""
    root = os.getuid() == 0
    async with served(tmp_path, own_uid=0 if root else os.getuid() + 1) as daemon:
        for directory in (tmp_path, *tmp_path.parents):
            if root and directory != Path("/"):
                directory.chmod(directory.stat().st_mode | 0o011)
        daemon.path.chmod(0o666)
        script = (
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
            "print(s.makefile().read())"
        )
        become = ["setpriv", "--reuid=65534", "--clear-groups"] if root else []
        python = "/usr/bin/python3" if root else sys.executable  # root's own may be private
        done = await trio.run_process(
            [*become, python, "-c", script, str(daemon.path)], capture_stdout=True
        )
        answer = json.loads(done.stdout)
        assert answer["error"]["code"] == -32006 and daemon.server.connections == 0


def test_a_listener_may_be_handed_in_by_a_service_manager(tmp_path: Path) -> None:
    """Any listening socket will do, whoever bound it."""
    script = (
        "import os, socket, sys, trio\n"
        "from podiumd.rpc.server import serve_rpc\n"
        "from tests.rpc.bare import bare_info\n"
        "from tests.rpc.fake_service import FakeService\n"
        "info = bare_info(request_shutdown=lambda turns: os._exit(0))\n"
        "trio.run(serve_rpc, FakeService(), info, socket.socket(fileno=int(sys.argv[1])))\n"
    )
    root = Path(__file__).parents[2]
    with listening(tmp_path / "s", os.getuid()) as sock:
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(sock.fileno())],
            pass_fds=[sock.fileno()],
            env={"PYTHONPATH": f"{root}:{root / 'daemon'}", "PATH": os.environ["PATH"]},
        )
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(HANG_SECONDS)
            client.connect(str(tmp_path / "s"))
            client.sendall(PING + b"\n" + request("daemon.shutdown") + b"\n")
            child.wait(timeout=HANG_SECONDS)
        assert child.returncode == 0
