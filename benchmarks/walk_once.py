"""Looks at every file of a tree and does nothing else: the floor of any restart.

    python benchmarks/walk_once.py PROJECTS

Prints one JSON object: ``seconds`` for the walk alone, and the number of ``files``.
"""

import os
import sys
import time


def walk(directory: str) -> list[tuple[str, int, int]]:
    """Path, size and time of every file below a directory."""
    found = []
    waiting = [directory]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    status = entry.stat()
                    found.append((entry.path, status.st_size, status.st_mtime_ns))
    return found


if __name__ == "__main__":
    began = time.perf_counter()
    files = walk(sys.argv[1])
    seconds = time.perf_counter() - began
    print(f'{{"seconds": {seconds}, "files": {len(files)}}}')
