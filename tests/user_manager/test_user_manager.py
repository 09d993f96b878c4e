"""The service under a real systemd user manager, with the real agent at work in it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import trio

from podiumd.service.systemd import GATEWAY, SERVICE, SOCKET
from podiumd.tools.process import cgroup
from tests.e2e.daemon import gone
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import ASKING, bash, held, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.patience import HANG_SECONDS
from tests.service.needs import prepared, try_all
from tests.service.restarts import GATE, RECIPE, TURNS, Clients, Workplace
from tests.service.test_activation import free_port
from tests.user_manager.managed import ManagedDaemon, left_of_units, shown, systemctl

pytestmark = pytest.mark.claude


def _workplace(machine: Machine, model: ModelServer) -> Workplace:
    config = machine.podium_home / "config.toml"
    config.write_text(config.read_text() + f"[limits]\nmax_agents = {TURNS}\n")
    return Workplace(machine, model)


async def test_installed_it_runs_at_once_and_at_each_login_and_uninstalled_nothing_is_left(
    machine: Machine,
) -> None:
    async with ManagedDaemon(machine) as podium:
        assert [shown("ActiveState", unit) for unit in (SERVICE, SOCKET)] == ["active", "active"]
        assert systemctl("is-enabled", SERVICE, SOCKET).split() == ["enabled", "enabled"]
        status = await podium.rpc("daemon.status")
        assert (status["service"], status["pid"]) == ("systemd", podium.pid)
        assert "active (running)" in (await podium.cli("service", "status")).out

    assert left_of_units() == [] and podium.living() == []
    assert [
        path for path in machine.home.rglob("*") if path.suffix in (".service", ".socket")
    ] == []
    assert not machine.socket.exists()


async def test_turns_live_on_over_kill_9_restart_and_installing_anew_and_nobody_is_refused(
    machine: Machine, model_server: ModelServer
) -> None:
    place, clients = _workplace(machine, model_server), Clients(machine.socket)
    async with ManagedDaemon(machine) as podium:
        await place.begin(podium)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(clients.run)
            for _ in range(3):
                before = podium.pid
                os.kill(before, signal.SIGKILL)
                await gone(before)
                assert await podium.answers() == TURNS
                assert podium.pid != before
            nursery.cancel_scope.cancel()
        assert int(shown("NRestarts")) == 3

        restarted = await podium.cli("service", "restart")
        assert f"Turns taken up: {TURNS}." in restarted.out, restarted
        await podium.start()
        assert await podium.answers() == TURNS
        await place.finish(podium)
    clients.check()


async def test_a_daemon_that_stands_still_is_killed_by_the_watchdog_and_its_turn_goes_on(
    machine: Machine, model_server: ModelServer, repo: GitRepo
) -> None:
    model_server.load({"turns": [held(word("complete", "Thinking about it. " * 20), GATE)]})
    recipe = machine.recipe("work", ASKING)
    async with ManagedDaemon(machine) as podium:
        run = await podium.rpc("runs.start", recipe=recipe, working_directory=str(repo.path))
        await holding(model_server, GATE)
        stopped = podium.pid
        os.kill(stopped, signal.SIGSTOP)

        await gone(stopped)  # the watchdog bites 30 s after its last word
        assert await podium.answers() == 1
        assert podium.pid != stopped
        model_server.release(GATE)
        assert (await podium.ended(run["run_id"]))["exit"]["reason"] == "turn-complete"


async def test_who_connects_to_a_stopped_service_starts_it(machine: Machine) -> None:
    async with ManagedDaemon(machine) as podium:
        systemctl("stop", SERVICE)
        assert (podium.living(), shown("ActiveState", SOCKET)) == ([], "active")

        assert (await podium.rpc("daemon.status"))["pid"] == podium.pid


async def test_the_port_for_phones_is_held_while_the_daemon_is_away(
    machine: Machine,
) -> None:
    port = free_port()
    config = machine.podium_home / "config.toml"
    config.write_text(config.read_text().replace("port = 0", f"port = {port}"))
    async with ManagedDaemon(machine, "--gateway-socket") as podium:
        assert shown("ActiveState", GATEWAY) == "active"
        before = podium.pid
        os.kill(before, signal.SIGKILL)
        with trio.fail_after(HANG_SECONDS):
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                await stream.send_all(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                assert (await stream.receive_some()).startswith(b"HTTP/1.1 200 ")
        assert podium.pid != before


async def test_a_turn_has_a_group_below_the_unit_and_takes_what_it_left_with_it(
    machine: Machine, model_server: ModelServer, repo: GitRepo
) -> None:
    lonely = "env -i setsid sh -c 'sleep 600 & echo $! > left; wait' > /dev/null 2>&1 &"
    model_server.load({"turns": [bash(lonely), held(word("complete", "Well. " * 40), GATE)]})
    recipe = machine.recipe("leave", RECIPE)
    async with ManagedDaemon(machine) as podium:
        run = await podium.rpc(
            "runs.start", recipe=recipe, working_directory=str(repo.path), params={"number": 1}
        )
        await holding(model_server, GATE)
        left = int((repo.path / "left").read_text())
        group = Path(f"/proc/{left}/cgroup").read_text()
        assert f"{SERVICE}/{cgroup.PREFIX}" in group
        model_server.release(GATE)
        await podium.ended(run["run_id"])
        await gone(left)


async def test_down_interrupts_the_turns_and_stops_the_service_and_its_socket(
    machine: Machine, model_server: ModelServer
) -> None:
    place = _workplace(machine, model_server)
    async with ManagedDaemon(machine) as podium:
        await place.begin(podium)
        assert (await podium.cli("down")).code == 0
        assert podium.living() == []
        states = [shown("ActiveState", unit) for unit in (SERVICE, SOCKET)]
        assert states == ["inactive", "inactive"]
        assert not machine.socket.exists()


async def test_sandboxes_node_compilers_and_git_over_ssh_work_in_a_turn(
    machine: Machine, model_server: ModelServer, repo: GitRepo
) -> None:
    with prepared(machine, model_server, repo, machine.home / "ssh") as socket:
        async with ManagedDaemon(machine, SSH_AUTH_SOCK=str(socket)) as podium:
            await try_all(podium, repo)
