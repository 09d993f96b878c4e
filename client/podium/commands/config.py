"""``podium config``: the settings as the sources have them, as the daemon has them, read anew.

The daemon's own module reads the sources, so that it works with no daemon running.
"""

from __future__ import annotations

import subprocess

from podium import text
from podium.errors import OK, USAGE, Failure, Refusal
from podium.rpc.connection import call
from podium.rpc.installed import daemon_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from podium import protocol


def config(action: str, running: bool, config: str | None, json: bool) -> int:
    """``podium config``."""
    if running and action != "show":
        raise Failure("--running goes with 'podium config show' only.", USAGE)
    if config is not None and (running or action == "reload"):
        words = "--config goes with 'show' and 'path': the daemon was started with its own file."
        raise Failure(words, USAGE)
    if action == "reload":
        return _reload(json)
    if running:
        return _running(json)
    command = daemon_command(config, "config", action, json=json)
    return subprocess.run(command, check=False).returncode


def _reload(json: bool) -> int:
    try:
        answer: protocol.Reloaded = call("daemon.reload")
    except Refusal as refusal:
        raise Failure(refusal.message) from refusal
    if json:
        return text.emit_json(answer)
    changed = [text.fold(key) for key in answer.get("changed") or []]
    now = f"In force now: {', '.join(changed)}." if changed else "Nothing has changed."
    waiting = answer.get("pending") or []
    if waiting:
        told = [*([now] if changed else []), *map(_waits, waiting), _restart(answer)]
        now = "\n".join(told)
    text.say(now)
    return OK


def _restart(answer: protocol.Reloaded | protocol.Configuration) -> str:
    return f"Restart with '{text.fold(answer.get('restart') or 'podium down && podium up')}'."


def _waits(one: protocol.PendingSetting) -> str:
    values = (one.get("running"), one.get("file"))  # none: such an agent is not there, or to go
    running, file = ("not there" if it is None else text.fold(_toml(it)) for it in values)
    key = text.fold(one.get("key"))
    return f"{key} waits for a restart: it is {running}, and is to be {file}."


def _running(json: bool) -> int:
    answer: protocol.Configuration = call("daemon.configuration")
    if json:
        return text.emit_json(answer)
    rows = [
        (f"{one.get('key')} = {_toml(one.get('value'))}", str(one.get("source") or ""))
        for one in answer.get("values") or []
    ]
    width = max((len(line) for line, _ in rows), default=0)
    lines = [f"{text.fold(line):<{width}}  # {text.fold(source)}\n" for line, source in rows]
    text.emit("".join(lines))
    if answer.get("problem"):
        text.tell(f"podium: the file is not in force: {text.fold(answer['problem'])}")
    for words in answer.get("warnings") or []:
        text.tell(f"podium: {text.fold(words)}")
    for one in answer.get("pending") or []:
        text.tell(f"podium: {_waits(one)} {_restart(answer)}")
    return OK


def _toml(value: object) -> str:
    import json

    if isinstance(value, dict):
        pairs = ", ".join(f"{name} = {json.dumps(item)}" for name, item in value.items())
        return f"{{ {pairs} }}" if value else "{}"
    return json.dumps(value, ensure_ascii=False)
