"""A ``systemctl`` that notes how it is called and does what the units say, for one home.

It starts what ``podiumd.service`` says, with the environment that the unit gives and nothing else,
and ``systemd-socket-activate`` holds the sockets until then. Its state is in ``$HOME/.stand-in``.
"""

import json
import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HOME = Path(os.environ["HOME"])
STATE = HOME / ".stand-in"
UNITS = HOME / ".config" / "systemd" / "user"
SECONDS = 20.0


def settings(unit: str, key: str) -> Iterator[str]:
    """The values of a key in a unit, as systemd reads them."""
    for line in (UNITS / unit).read_text().splitlines():
        if line.startswith(f"{key}="):
            yield line.partition("=")[2].replace("%%", "%")


def environment() -> dict[str, str]:
    """What the user manager gives a service, and what its unit adds."""
    given = {"HOME": str(HOME), "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}
    for line in settings("podiumd.service", "Environment"):
        name, _, value = shlex.split(line)[0].partition("=")
        given[name] = value
    return given


def pid_of_daemon() -> int | None:
    try:
        return int((STATE / "pid").read_text())
    except (OSError, ValueError):
        return None


def lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def start() -> None:
    if (pid := pid_of_daemon()) is not None and lives(pid):
        return
    given = environment()
    sockets = [unit for unit in ("podiumd.socket", "podiumd-gateway.socket") if there(unit)]
    listens = [
        word for unit in sockets for one in settings(unit, "ListenStream") for word in ("-l", one)
    ]
    names = ":".join(one for unit in sockets for one in settings(unit, "FileDescriptorName"))
    passed = [word for name in given for word in ("-E", name)]
    command = shlex.split(next(settings("podiumd.service", "ExecStart")).replace("$$", "$"))
    with (STATE / "daemon.log").open("ab") as log:
        daemon = subprocess.Popen(
            ["systemd-socket-activate", *listens, f"--fdname={names}", *passed, *command],
            env={"PATH": os.environ["PATH"]} | given,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (STATE / "pid").write_text(str(daemon.pid))
    daemon.returncode = 0  # it outlives us


def there(unit: str) -> bool:
    return (UNITS / unit).exists()


def stop() -> None:
    """KillMode=process: the daemon and nobody else."""
    pid = pid_of_daemon()
    if pid is None:
        return
    if lives(pid):
        gone = os.pidfd_open(pid)
        os.kill(pid, signal.SIGTERM)
        select.select([gone], [], [], SECONDS)
    (STATE / "pid").unlink()


def show() -> None:
    pid = pid_of_daemon()
    active = pid is not None and lives(pid)
    print(f"ActiveState={'active' if active else 'inactive'}")
    print(f"SubState={'running' if active else 'dead'}")
    print(f"MainPID={pid if active else 0}\nNRestarts=3\nUnitFileState=enabled\nResult=success")


def main() -> int:
    STATE.mkdir(exist_ok=True)
    arguments = sys.argv[1:]
    with (STATE / "calls").open("a") as calls:
        calls.write(json.dumps(["systemctl", *arguments]) + "\n")
    if (STATE / "broken").exists():
        print("Failed to connect to bus: No medium found", file=sys.stderr)
        return 1
    verb, units = arguments[1], arguments[2:]
    if (STATE / f"fails-{verb}").exists():
        print(f"Failed to {verb} unit: Access denied", file=sys.stderr)
        return 1
    started = pid_of_daemon() is not None
    if verb in ("stop", "restart") and "podiumd.service" in units:
        stop()
    if started and verb == "stop" and "podiumd.socket" in units:  # RemoveOnStop
        for path in settings("podiumd.socket", "ListenStream") if there("podiumd.socket") else ():
            Path(path).unlink(missing_ok=True)
    if verb in ("start", "restart") and "podiumd.service" in units:
        start()
    if verb == "show":
        show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
