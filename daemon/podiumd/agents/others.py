"""Places of session files that are listed whether or not a table configures their agent. Pure.

They are those of programs that one kind drives, each with a format of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from podiumd.agents.kind import Where


class Other(msgspec.Struct, frozen=True):
    """An agent by the format of its session files: ``driver`` is the kind that drives it.

    ``variables`` name its own directory, the first that is set counts. ``own`` is that directory
    in a home, ``files`` what of it holds the session files.
    """

    driver: str
    variables: tuple[str, ...]
    own: str
    files: str

    def directory(self, where: Where) -> Path:
        """Return where it keeps its session files."""
        chosen = next(filter(None, map(where.environ.get, self.variables)), None)
        own = where.home / self.own if chosen is None else Path(chosen).expanduser()
        return own / self.files


OTHERS: Final[Mapping[str, Other]] = {
    "qwen": Other("acp", ("QWEN_RUNTIME_DIR", "QWEN_HOME"), ".qwen", "projects"),
    "gemini": Other("acp", ("GEMINI_CLI_HOME",), "", ".gemini/tmp"),
    "kimi": Other("acp", ("KIMI_CODE_HOME",), ".kimi-code", "sessions"),
    "copilot": Other("acp", ("COPILOT_HOME",), ".copilot", "session-state"),
}
"""By the name of the format, which is that of the agent too where no table configures it."""
