"""Waits for one file to grow with a bare inotify descriptor, and reads what is new: the floor.

    python benchmarks/inotify_peer.py FILE     (Linux)

Prints ``ready``; then, after each growth, eight bytes: ``time.monotonic_ns()`` when the new bytes
had been read. It ends when its standard output is closed.
"""

import ctypes
import os
import struct
import sys
import time

IN_MODIFY = 0x2


def main(path: str) -> None:
    """Watch until nobody listens."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_CLOEXEC)
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(path), IN_MODIFY) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    file = os.open(path, os.O_RDONLY)
    offset = os.fstat(file).st_size
    os.write(1, b"ready\n")
    while True:
        os.read(watch, 4096)
        offset += len(os.pread(file, 1 << 20, offset))
        try:
            os.write(1, struct.pack("=q", time.monotonic_ns()))
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main(sys.argv[1])
