"""What agents need works inside a turn of a daemon that is confined as the unit says.

The daemon, the agent and its tool are real. Where ``bwrap`` is not installed, ``unshare`` makes
the same namespaces. ``git push`` takes its way over SSH's place, to a repository beside it.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import PATH, GitRepo, Machine
from tests.e2e.stories import bash, word
from tests.fakes.model_server import ModelServer
from tests.service.confined import ABOUT_THE_SERVICE, APPLIED, service_settings

pytestmark = pytest.mark.claude

RECIPE = """
initial = "work"

[steps.work]
prompt = "Work on it."
allow = ["Bash"]

[steps.work.on]
complete = { exit = "task-committed", class = "completed" }
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
say node node -e 'let n = 0; for (let i = 0; i < 3e6; i++) n += i % 7; console.log(n > 3e6)'
printf 'int puts(const char *); int main(void) { return puts("compiled") < 0; }' > it.c
say gcc sh -c 'cc -o it it.c && ./it'
say threads node -e 'new (require("worker_threads").Worker)("console.log(6)", {eval: true})'
say network node -e 'console.log(Object.keys(require("os").networkInterfaces()).length > 0)'
say sandbox {sandbox}
say agent sh -c 'ssh-add -l | cut -d" " -f3'
say push sh -c 'git push --quiet ssh://person@remote{remote} HEAD:main && echo pushed'
"""


class ConfinedDaemon(PodiumDaemon):
    """Its process, and so every turn's, is under the settings of the unit."""

    program = (str(Path(__file__).with_name("confined.py")), "-m", "podiumd")


def test_every_setting_of_the_unit_is_tried_here() -> None:
    assert {name for name, _ in service_settings()} == ABOUT_THE_SERVICE | APPLIED.keys()


def ssh_agent(root: Path) -> tuple[Path, str]:
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


def stand_in_ssh(root: Path) -> Path:
    """An ``ssh`` that runs the command for the host here, as git asks for it."""
    program = root / "ssh"
    program.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o755)
    return program


async def test_sandboxes_node_compilers_and_git_over_ssh_work_in_a_turn(
    machine: Machine, model_server: ModelServer, repo: GitRepo, tmp_path: Path
) -> None:
    socket, agent = ssh_agent(tmp_path)
    remote = tmp_path / "remote.git"
    repo.git("init", "--quiet", "--bare", str(remote))
    sandbox = BWRAP if shutil.which("bwrap", path=PATH) else UNSHARE
    script = SCRIPT.replace("{sandbox}", sandbox).replace("{remote}", str(remote))
    (repo.path / "look.sh").write_text(script)
    model_server.load({"turns": [bash("sh look.sh > found"), word("complete")]})
    machine.configure(env={"GIT_SSH": str(stand_in_ssh(tmp_path))})
    try:
        async with ConfinedDaemon(machine, SSH_AUTH_SOCK=str(socket)) as podium:
            run = await podium.rpc(
                "runs.start",
                recipe=machine.recipe("look", RECIPE),
                working_directory=str(repo.path),
            )
            ended = await podium.ended(run["run_id"])
    finally:
        subprocess.run(["kill", agent], check=True)

    assert ended["exit"]["reason"] == "task-committed", ended
    assert (repo.path / "found").read_text().splitlines() == [
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
    ], (repo.path / "complaints").read_text()
    pushed = GitRepo(remote).git("rev-parse", "main")
    assert pushed == repo.head
