"""The program behind ``tests.client.processes``: has all of the client loaded, and forks for each
command a process that goes on as a fresh ``python -m podium`` would from here.

Its standard input is a socket. What arrives there is the four descriptors of a process to be: its
standard streams, and a socket on which its arguments, environment and directory come, and its id
and its exit code go. Whatever comes on that one is read by the child alone: a request that is wrong
ends its own process, with the cause on its standard error, and no other.
"""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import podium.__main__

# It looks at the terminal, which is another for each process, when it is loaded.
LATE = {"readline"}


def load() -> None:
    """Import whatever the client imports anywhere."""
    for path in Path(podium.__main__.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [str(node.module), *(f"{node.module}.{name.name}" for name in node.names)]
            for name in {*names} - LATE:
                with suppress(ImportError):  # most names are no modules
                    importlib.import_module(name)
    gc.collect()
    gc.freeze()


class Parent:
    """Forks, and tells how each child ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._callers: dict[int, socket.socket] = {}
        self._ended, self._wakeup = os.pipe()
        os.set_blocking(self._wakeup, False)

    def serve(self) -> None:
        """Fork until nobody asks any more. Returns in each child."""
        signal.set_wakeup_fd(self._wakeup)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        while True:
            ready, _, _ = select.select([self._control.fileno(), self._ended], [], [])
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if self._control.fileno() in ready:
                word, descriptors, _, _ = socket.recv_fds(self._control, 1, 4)
                if not word:
                    os._exit(0)
                if len(descriptors) == 4 and self._fork(*descriptors):
                    return
                for descriptor in descriptors:
                    os.close(descriptor)

    def _reap(self) -> None:
        while self._callers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._callers.pop(pid) as caller, suppress(OSError):
                caller.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))

    def _fork(self, stdin: int, stdout: int, stderr: int, channel: int) -> bool:
        """Whether this is the child."""
        pid = os.fork()
        if not pid:
            self._leave()
            _become(socket.socket(fileno=channel), stdin, stdout, stderr)
            return True
        caller = self._callers[pid] = socket.socket(fileno=os.dup(channel))
        with suppress(OSError):  # who asked may be gone
            caller.sendall(b"%d\n" % pid)
        return False

    def _leave(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for held in (self._control, *self._callers.values()):
            held.close()
        os.close(self._ended)
        os.close(self._wakeup)


def _become(caller: socket.socket, *streams: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    with caller, caller.makefile("rb") as asked:
        request: dict[str, Any] = json.load(asked)
    if request["terminal"]:  # a session leader that opens one gets it as its controlling one
        os.setsid()
        os.close(os.open(os.ttyname(0), os.O_RDWR))
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["directory"])
    sys.path[0] = request["directory"]
    sys.argv = [str(podium.__main__.__file__), *request["arguments"]]
    _open_streams()


def _open_streams() -> None:
    """As the interpreter does it at its start."""
    stdin, stdout = sys.__stdin__, sys.__stdout__
    assert stdin is not None
    assert stdout is not None
    sys.stdin = os.fdopen(0, encoding=stdin.encoding, errors=stdin.errors, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding=stdout.encoding, errors=stdout.errors, closefd=False)
    sys.stderr = os.fdopen(
        2, "w", buffering=1, encoding=stdout.encoding, errors="backslashreplace", closefd=False
    )


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who has started us
    with socket.socket(fileno=os.dup(0)) as asking:
        load()
        Parent(asking).serve()
    code = podium.__main__.main()
    with suppress(OSError, ValueError):  # what cannot be flushed is told by the interpreter's end
        sys.stdout.flush()
        sys.stderr.flush()
        if threading.active_count() == 1:
            os._exit(code)  # to take all apart that was loaded would take longest
    sys.exit(code)
