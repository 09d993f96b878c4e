"""Fetch a model from the hub: ``python -m podiumd.speech.worker.fetch REPOSITORY DIRECTORY``.

Says in one line what went wrong, and ends with status 1 then.
"""

from __future__ import annotations

import sys
from typing import Final

from podiumd.core.excerpt import beginning

_FILES: Final = [
    "config.json",
    "preprocessor_config.json",
    "model.bin",
    "tokenizer.json",
    "vocabulary.*",
]
_REACH_SECONDS: Final = 5.0


def main(repository: str, directory: str) -> int:
    """Fetch the files of a repository; returns the exit status."""
    import socket

    try:
        socket.create_connection(("huggingface.co", 443), _REACH_SECONDS).close()
        from huggingface_hub import snapshot_download

        snapshot_download(repository, allow_patterns=_FILES, local_dir=directory)
    except Exception as error:  # noqa: BLE001 - whatever it is, the person gets it in one line
        reason = beginning(" ".join(str(error).split()), 300) or type(error).__name__
        sys.stdout.write(f"the hub cannot be used: {reason}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
