"""A command with a real systemd user manager beside it, in namespaces of its own.

    python -m tests.user_manager.namespace COMMAND [ARGUMENT...]     (Linux, root, systemd)

The command gets an own ``/tmp`` and ``/run``, and a ``systemd --user`` with an empty home
(``MANAGERS_HOME``) that sees neither the machine's services nor a person's own.
Nothing of it lives on: when the command ends, the kernel ends the whole namespace. The exit status
is the command's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.patience import HANG_SECONDS

MANAGER = "/lib/systemd/systemd"
INSIDE = "--inside"
HOME, RUNTIME = Path("/tmp/home"), Path("/run/user")
MANAGERS_HOME = "MANAGERS_HOME"
KEPT = ("PATH", "LANG", "HOME", "CI", "CLAUDE_BIN")


def main() -> int:
    """Outside: make the namespaces. Inside: fill them, start the manager, run the command."""
    if sys.argv[1:2] == [INSIDE]:
        return _inside(sys.argv[2:])
    if problem := _problem():
        print(f"A user manager cannot be started here: {problem}.", file=sys.stderr)
        return 1
    with _control_group():
        inside = [sys.executable, "-m", "tests.user_manager.namespace", INSIDE, *sys.argv[1:]]
        own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return subprocess.run([*own, *inside], check=False).returncode


def _problem() -> str:
    if os.geteuid() != 0:
        return "mounts and control groups of its own need root"
    if not Path(MANAGER).exists() or shutil.which("systemctl") is None:
        return "systemd is not installed"
    if not _hierarchies():
        return "no control group hierarchy of systemd's is mounted"
    return ""


def _hierarchies() -> list[Path]:
    """Where systemd keeps its groups: one place, or two with the old control groups beside."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2" or (kind == "cgroup" and "name=systemd" in options.split(",")):
            found.append(Path(before.split()[4]))
    return found


@contextlib.contextmanager
def _control_group() -> Iterator[None]:
    """Put this process and what it starts into a group of its own, which is taken away again."""
    made = []
    homes = []
    for hierarchy in _hierarchies():
        group = hierarchy / f"podium-test-{os.getpid()}.slice"
        homes.append(hierarchy / _own_group(hierarchy))
        group.mkdir()
        made.append(group)
        (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        for home, group in zip(homes, made, strict=True):
            (home / "cgroup.procs").write_text(str(os.getpid()))
            for path, _, _ in os.walk(group, topdown=False):
                Path(path).rmdir()


def _own_group(hierarchy: Path) -> str:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if controllers == "name=systemd" and hierarchy.name == "systemd":
            return path.lstrip("/")
        if number == "0" and hierarchy.name != "systemd":
            return path.lstrip("/")
    return ""


def _inside(command: list[str]) -> int:
    for place in ("/tmp", "/run"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
    Path("/tmp").chmod(0o1777)
    runtime = RUNTIME / str(os.geteuid())
    # The user manager starts only where a system manager seems to be.
    for path in (HOME, runtime, Path("/run/systemd/system")):
        path.mkdir(parents=True, mode=0o700)
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | {
        MANAGERS_HOME: str(HOME),
        "XDG_RUNTIME_DIR": str(runtime),
    }
    with _manager(environment | {"HOME": str(HOME), "USER": "root"}):
        return subprocess.run(command, env=environment, check=False).returncode


@contextlib.contextmanager
def _manager(environment: dict[str, str]) -> Iterator[None]:
    """A user manager that has told that it is ready."""
    log = Path("/tmp/manager.log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, log.open("wb") as output:
        told.bind("/tmp/manager.ready")
        told.settimeout(HANG_SECONDS)
        process = subprocess.Popen(
            [MANAGER, "--user", "--log-target=console"],
            env=environment | {"NOTIFY_SOCKET": "/tmp/manager.ready"},
            stdout=output,
            stderr=output,
        )
        try:
            while b"READY=1" not in told.recv(4096):
                pass
            yield
        except TimeoutError:
            raise SystemExit(f"The user manager did not start:\n{log.read_text()}") from None
        finally:
            process.terminate()
            process.wait(HANG_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
