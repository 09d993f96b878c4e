"""What a command in the sandbox can do is tried, and what it cannot do as well."""

import os
import pwd
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import trio

from podiumd.tools.confine.bubblewrap import KERNEL
from podiumd.tools.process.processes import carriers
from podiumd.tools.sandbox.sandbox import Probe, Sandbox
from podiumd.tools.sandbox.shell import run_arguments
from tests.tools.boxed_project import Inside
from tests.tools.fresh_turn import fresh_turn

pytestmark = pytest.mark.needs("bwrap")


async def test_the_tree_is_read_and_written(inside: Inside) -> None:
    done = await inside.run("cat a.txt; echo new > b.txt; mkdir d; pwd")

    assert (done.exit_status, done.output) == (0, f"a\n{inside.project}\n")
    assert (inside.project / "b.txt").read_text() == "new\n"


async def test_the_home_cannot_be_read(inside: Inside) -> None:
    done = await inside.run(
        f"cat ~/.ssh/id_rsa; cat {inside.home}/diary.txt; cat ../diary.txt; ls -A ~ ..; "
        "cat /proc/1/root/$HOME/diary.txt; find /home /root /tmp -name id_rsa 2>/dev/null"
    )

    assert "[secret]" not in done.output and "diary.txt\n" not in done.output.replace("cat:", "")
    assert "/.ssh/id_rsa: No such file" in done.output


async def test_the_homes_of_this_machine_cannot_be_read(inside: Inside) -> None:
    real = pwd.getpwuid(os.getuid()).pw_dir  # whatever HOME says
    done = await inside.run(f"ls -A {real} 2> /dev/null")  # it need not even be there

    shown = set(done.output.split()) - {".cargo", ".pyenv", ".rustup", ".nvm", ".local", "go"}
    assert shown == set()


async def test_the_state_cannot_be_read_even_within_the_tree(inside: Inside) -> None:
    state = inside.project / "state"
    state.mkdir()
    (state / "facts.db").write_text("[secret]")
    (inside.project / "key.pem").write_text("[secret]")
    inside.sandbox = Sandbox(
        "required",
        home=inside.home,
        closed=[state, inside.project / "key.pem"],
        environ={},
        probe=Probe(),
    )

    done = await inside.run("cat state/facts.db key.pem; echo x > state/facts.db; echo x > key.pem")

    assert "[secret]" not in done.output
    assert (state / "facts.db").read_text() == "[secret]"
    assert (inside.project / "key.pem").read_text() == "[secret]"


async def test_settings_of_the_kernel_cannot_be_opened_to_write(inside: Inside) -> None:
    """To a daemon run as root their files are its own. Nothing is written here, whatever comes."""
    done = await inside.run(
        "for name in sys irq bus fs sysrq-trigger; do "
        'grep -E " /proc/$name [^ ]*" /proc/self/mounts; done; '
        'python3 -c "import os\n'
        "for path in ('sys/kernel/core_pattern', 'sys/vm/drop_caches', 'sysrq-trigger'):\n"
        "    try:\n"
        "        os.close(os.open('/proc/' + path, os.O_WRONLY))\n"
        "        print('opened')\n"
        "    except OSError as error:\n"
        '        print(error.strerror)"'
    )

    mounts = [line.split() for line in done.output.splitlines() if line.startswith("proc ")]
    there = [name for name in KERNEL if Path("/proc", name).exists()]
    assert {words[1] for words in mounts} == {f"/proc/{name}" for name in there}
    assert all("ro" in words[3].split(",") for words in mounts)
    refused = done.output.splitlines()[len(mounts) :]
    allowed = {"Read-only file system", "Permission denied", "No such file or directory"}
    assert len(refused) == 3 and set(refused) <= allowed


async def test_nothing_is_written_outside_of_the_tree(inside: Inside, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    scratch = Path("/tmp") / fresh_turn()
    done = await inside.run(
        f"touch {outside}/x ../x ~/x /etc/x /usr/x /var/x /opt/x; ln -s {outside} link; "
        f"touch link/y; touch {scratch} && echo tmp"
    )

    assert done.output.endswith("tmp\n")
    assert list(outside.iterdir()) == []
    assert not (inside.home / "x").exists() and not scratch.exists()


@pytest.fixture
async def listener() -> AsyncIterator[int]:
    """Somebody who would answer on this machine."""
    async with trio.open_nursery() as nursery:

        async def greet(stream: trio.SocketStream) -> None:
            await stream.send_all(b"hello")

        served = await nursery.start(partial(trio.serve_tcp, greet, 0, host="127.0.0.1"))
        yield served[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def test_the_network_cannot_be_reached(inside: Inside, listener: int) -> None:
    probe = (
        "import socket\n"
        f"for place in (('127.0.0.1', {listener}), ('1.1.1.1', 53)):\n"
        "    try: print('reached', socket.create_connection(place, 3))\n"
        "    except OSError as error: print('no', error.errno)\n"
    )
    (inside.project / "net.py").write_text(probe)

    outside = await run_arguments(
        ["/usr/bin/env", "python3", "net.py"],
        cwd=f"{inside.project}",
        environment={"PATH": os.environ["PATH"]},
        turn_id=fresh_turn(),
        limit_seconds=30,
    )
    done = await inside.run("/usr/bin/env python3 net.py; ls /sys/class/net")

    assert outside.output.startswith("reached")
    assert "reached" not in done.output and done.output.count("no ") == 2
    assert done.exit_status == 0


async def test_sockets_of_other_programs_are_out_of_sight(inside: Inside, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(f"{inside.home}/agent.sock")
        agent.listen()
        done = await inside.run("ls /run; test -e ~/agent.sock || echo gone; env")

    assert "gone\n" in done.output
    assert "docker.sock" not in done.output and "SSH_AUTH_SOCK" not in done.output


async def test_tools_in_the_home_work_and_their_keys_are_hidden(inside: Inside) -> None:
    bin_ = inside.home / ".cargo/bin"
    bin_.mkdir(parents=True)
    (bin_ / "mytool").write_text("#!/bin/sh\necho works\n")
    (bin_ / "mytool").chmod(0o755)
    (inside.home / ".cargo/credentials.toml").write_text("[secret]")
    odd = inside.home / "odd/bin"
    odd.mkdir(parents=True)
    (odd.parent / "diary").write_text("[secret]")
    path = f"{bin_}:{odd}:{inside.home}:.:{os.environ['PATH']}"
    inside.sandbox = Sandbox("required", home=inside.home, environ={"PATH": path}, probe=Probe())

    done = await inside.run(
        "~/.cargo/bin/mytool; cat ~/.cargo/credentials.toml; touch ~/.cargo/x; "
        f"ls {odd.parent}; ls ~"
    )

    assert done.output.startswith("works\n") and "[secret]" not in done.output
    assert "diary" not in done.output
    assert not (inside.home / ".cargo/x").exists()


async def test_what_is_left_running_ends_with_the_sandbox(inside: Inside) -> None:
    done = await inside.run("setsid sleep 1000 & (setsid sh -c 'sleep 1000' &) ; echo done")

    assert (done.exit_status, done.output) == (0, "done\n")
    assert carriers(inside.turn) == []


async def test_at_its_time_limit_all_in_the_sandbox_is_ended(inside: Inside) -> None:
    enclosure, _ = await inside.sandbox.enclose(inside.project, inside.state)
    turn = fresh_turn()

    done = await run_arguments(
        ["/bin/sh", "-c", "trap '' TERM; setsid sleep 1000 & sleep 1000"],
        cwd=f"{inside.project}", environment={"PATH": os.environ["PATH"]}, turn_id=turn,
        enclosure=enclosure, limit_seconds=0.5,
    )  # fmt: skip

    assert done.timed_out
    assert carriers(turn) == []
