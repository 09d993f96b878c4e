"""The page in a browser: ``podium web`` shows its address, ``podium web setup`` makes one that a
phone reaches, with a certificate that it trusts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from podium import text
from podium.commands.gateway import agreed, is_local
from podium.errors import OK, Failure
from podium.rpc.connection import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from podium import protocol

TAILSCALE_SECONDS = 60.0
CERTIFICATE_SECONDS = 180.0


def web(show: bool, json: bool) -> int:
    """``podium web``."""
    status = _gateway()
    url = page_url(status)
    missing = list(_missing(status, url))
    if json:
        return text.emit_json({"url": url, "missing": missing})
    text.say(f"The page: {url}")
    for words in missing:
        text.say(f"- {words}")
    devices: list[protocol.Device] = call("gateway.devices")
    if not any(one.get("kind") == "web" for one in devices):
        text.say("No browser is paired yet: 'podium pair --web' shows a link and a code.")
    if not show and sys.stdout.isatty() and _has_screen():
        import webbrowser

        webbrowser.open(url)
    return OK


def _gateway() -> protocol.GatewayStatus:
    status: protocol.DaemonStatus = call("daemon.status")
    gateway = status["gateway"]
    if gateway.get("url") is None:
        raise Failure(gateway.get("problem") or "The gateway is off: [gateway] enabled = false.")
    return gateway


def page_url(status: protocol.GatewayStatus) -> str:
    """Return the address of the page."""
    return str(status["url"]).replace("ws", "http", 1)


def _missing(status: protocol.GatewayStatus, url: str) -> list[str]:
    if is_local(url):
        return ["It is for browsers of this machine alone: 'podium web setup' opens it to a phone."]
    if url.startswith("http:"):
        insecure = (
            "Over plain HTTP a browser gives it no microphone, no work offline and no "
            "notifications: 'podium web setup' shows the way to HTTPS."
        )
        return [insecure, *([str(status["warning"])] if status.get("warning") else [])]
    return []


def _has_screen() -> bool:
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in names)


# -- setup -----------------------------------------------------------------------------------


def setup(way: str | None, yes: bool, dry_run: bool) -> int:
    """``podium web setup``."""
    from podium.commands.web_settings import as_text, changed

    config = _configuration()
    file = Path(str(config["path"]))
    way = way or ("tailscale" if _tailscale() is not None else "lan")
    settings = _for_tailscale(file.parent) if way == "tailscale" else _FOR_LAN
    before = file.read_text(encoding="utf-8") if file.is_file() else ""
    after = changed(before, settings)
    text.say(_ABOUT[way])
    if after == before:
        text.say(f"{file} has these settings already.")
    else:
        text.say(f"In {file}, under [gateway]:\n\n{as_text(settings)}")
    commands = [_certificate(settings)] if way == "tailscale" else []
    for command in commands:
        text.say(f"Before it: {' '.join(command)}")
    if dry_run:
        return OK
    if not yes:
        agreed("Change this, and restart the daemon? [y/N] ", "--yes changes without asking.")
    for command in commands:
        _run(command)
    if after != before:
        _write(file, after)
    _restart(str(file))
    text.say("Now pair a browser: podium pair --web")
    return OK


_FOR_LAN: Mapping[str, str] = {"host": "0.0.0.0", "tls": "auto"}  # noqa: S104 - a setting, shown
_ABOUT = {
    "tailscale": "By Tailscale: only your own devices reach the page, with a certificate that "
    "every browser trusts.",
    "lan": "In your own network: every device in it reaches the page, with a certificate of this "
    "machine's own. A phone has to be told to trust it before it gives the page a microphone; "
    "'podium pair --web' says how. With Tailscale on both that would not be needed.",
}


def _configuration() -> protocol.Configuration:
    config: protocol.Configuration = call("daemon.configuration")
    if not config.get("path"):
        raise Failure("The daemon has no configuration file: 'podium config path' names its place.")
    return config


def _tailscale() -> str | None:
    """Return this machine's name in Tailscale; ``None``: it is not here, or not connected."""
    import json
    import shutil

    if shutil.which("tailscale") is None:
        return None
    try:
        asked = subprocess.run(
            ["tailscale", "status", "--json"],
            capture_output=True,
            check=True,
            timeout=TAILSCALE_SECONDS,
        )
        found = json.loads(asked.stdout)
        name = str(found["Self"]["DNSName"]).rstrip(".")
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None
    return name if found.get("BackendState") == "Running" and name else None


def _for_tailscale(directory: Path) -> Mapping[str, str]:
    name = _tailscale()
    if name is None:
        raise Failure(
            "Tailscale is not here, or not connected: 'tailscale up' connects it. "
            "'podium web setup --way lan' does without."
        )
    certificate = directory / "tls" / name
    return {
        "host": name,
        "tls": "files",
        "cert_file": f"{certificate}.crt",
        "key_file": f"{certificate}.key",
    }


def _certificate(settings: Mapping[str, str]) -> list[str]:
    files = ["--cert-file", settings["cert_file"], "--key-file", settings["key_file"]]
    return ["tailscale", "cert", *files, settings["host"]]


def _run(command: list[str]) -> None:
    folder = Path(command[3]).parent
    try:
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700, parents=True, exist_ok=True)
        done = subprocess.run(
            command, check=False, timeout=CERTIFICATE_SECONDS, capture_output=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Failure(f"'{' '.join(command)}' could not be run: {error}.") from None
    if done.returncode:
        said = text.fold(done.stderr.decode(errors="replace").strip() or "nothing")
        raise Failure(f"'{' '.join(command)}' failed, and nothing was changed. It said: {said}")


def _write(file: Path, words: str) -> None:
    from podium.atomic import write

    try:
        # The daemon believes no configuration that others can write.
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        write(str(file), words.encode())
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror}.") from None


def _restart(config: str) -> None:
    from podium.commands import daemon, offline
    from podium.paths import socket_path
    from podium.rpc import installed

    if installed.serves(socket_path()) and installed.manager_answers():
        offline.restart(json=False)
    else:
        daemon.restart(config)
