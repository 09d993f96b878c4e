"""What agents need inside a turn, tried by a real agent's own tool; ``git push`` takes its way
over SSH's place, to a repository beside it. Where ``bwrap`` is not installed, ``unshare`` makes
the same namespaces.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import PATH, GitRepo, Machine
from tests.e2e.stories import bash, word
from tests.fakes.model_server import ModelServer
from tests.needs import need
from tests.programs import brought

RECIPE = """
initial = "work"

[steps.work]
prompt = "Work on it."
allow = ["Bash"]

[steps.work.on]
complete = { exit = "turn-complete", class = "completed" }
"""

BWRAP = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all --die-with-parent echo alone"
UNSHARE = "unshare --user --map-root-user --mount --pid --net --ipc --uts --fork echo alone"

# Each line prints its name and what it found; a program that fails prints nothing after the name.
SCRIPT = r"""
say() { printf '%s ' "$1"; shift; "$@" 2>>complaints || echo FAILED; }
say privileges sed -n 's/NoNewPrivs:\s*//p' /proc/self/status
say files sh -c 'test $(ulimit -Sn) -ge 8192 && echo enough'
say core sh -c 'ulimit -Sc; ulimit -Sc unlimited'
say mask sh -c umask
say node {node} -e 'let n = 0; for (let i = 0; i < 3e6; i++) n += i % 7; console.log(n > 3e6)'
printf 'int puts(const char *); int main(void) { return puts("compiled") < 0; }' > it.c
say gcc sh -c 'cc -o it it.c && ./it'
say threads {node} -e 'new (require("worker_threads").Worker)("console.log(6)", {eval: true})'
say network {node} -e 'console.log(Object.keys(require("os").networkInterfaces()).length > 0)'
say sandbox {sandbox}
say agent sh -c 'ssh-add -l | cut -d" " -f3'
say push sh -c 'git push --quiet ssh://person@remote{remote} HEAD:main && echo pushed'
"""

FOUND = [
    "privileges 1",
    "files enough",
    "core 0",
    "mask 0022",
    "node true",
    "gcc compiled",
    "threads 6",
    "network true",
    "sandbox alone",
    "agent its-key",
    "push pushed",
]
"""What the script finds where nothing is in its way."""


def _ssh_agent(root: Path) -> tuple[Path, str]:
    """An agent that holds one key; its socket and its pid."""
    key, socket = root / "key", root / "agent"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "its-key", "-f", str(key)], check=True
    )
    said = subprocess.run(
        ["ssh-agent", "-a", str(socket)], check=True, capture_output=True, text=True
    )
    environment = {"PATH": PATH, "SSH_AUTH_SOCK": str(socket)}
    subprocess.run(["ssh-add", "-q", str(key)], env=environment, check=True)
    return socket, said.stdout.partition("SSH_AGENT_PID=")[2].partition(";")[0]


def _stand_in_ssh(root: Path) -> Path:
    """An ``ssh`` that runs the command for the host here, as git asks for it."""
    program = root / "ssh"
    program.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o755)
    return program


@contextmanager
def prepared(machine: Machine, model: ModelServer, repo: GitRepo, place: Path) -> Iterator[Path]:
    """The script in the repository, a remote, a key's agent: its socket is what this yields."""
    need("cc", "ssh-agent")
    place.mkdir(exist_ok=True)
    socket, agent = _ssh_agent(place)
    remote = _remote(machine)
    repo.git("init", "--quiet", "--bare", str(remote))
    sandbox = BWRAP if shutil.which("bwrap", path=PATH) else UNSHARE
    script = SCRIPT.replace("{sandbox}", sandbox).replace("{remote}", str(remote))
    script = script.replace("{node}", brought("node"))
    (repo.path / "look.sh").write_text(script)
    model.load({"turns": [bash("sh look.sh > found"), word("complete")]})
    machine.configure(env={"GIT_SSH": str(_stand_in_ssh(place))})
    try:
        yield socket
    finally:
        subprocess.run(["kill", agent], check=True)


async def try_all(podium: PodiumDaemon, repo: GitRepo) -> None:
    """Have the agent run the script, and see that everything works."""
    machine = podium.machine
    run = await podium.rpc(
        "runs.start", recipe=machine.recipe("look", RECIPE), working_directory=str(repo.path)
    )
    ended = await podium.ended(run["run_id"])
    assert ended["exit"]["reason"] == "turn-complete", ended
    found = (repo.path / "found").read_text().splitlines()
    assert found == FOUND, (repo.path / "complaints").read_text()
    assert GitRepo(_remote(machine)).git("rev-parse", "main") == repo.head


def _remote(machine: Machine) -> Path:
    return machine.root / "remote.git"
