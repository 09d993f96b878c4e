"""Phones and pages: ``podium pair`` gives one a key, ``podium devices`` lists them, changes what
they may do, and takes keys back."""

from __future__ import annotations

import os
import sys

from podium import text
from podium.errors import ERROR, OK, USAGE, Failure
from podium.rpc.connection import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from podium import protocol

    Paired = protocol.Pairing | protocol.Invitation
    Scope = Literal["look", "answer", "work", "all"]

# Black on white out of the fixed part of the palette: a theme cannot change these two.
INK_ON_PAPER = "\x1b[38;5;16;48;5;231m"
RESET = "\x1b[0m"

MOST_COLUMNS = 100


def pair(
    name: str | None,
    png: str | None,
    web: bool,
    scope: Scope | None,
    yes: bool,
    json: bool,
) -> int:
    """``podium pair``."""
    params: protocol.Pair = {} if name is None else {"name": name}
    if web:
        if not yes:
            _may_be_read()
        params["kind"], params["scope"] = "web", scope or "work"
    elif scope:
        raise Failure("--scope goes with --web: a phone's app has all rights.", USAGE)
    saved = None
    if png is None:
        told = call("gateway.pair", params)
    else:
        told, saved = _with_picture({**params, "png": True}, png)
    if json:
        text.emit_json(told if png is None else {**told, "png": saved})
    elif "key" not in told:
        _tell_page(told, saved)
    elif "code" not in told:
        _tell(told, saved)
    return OK if png is None or saved else ERROR


def _may_be_read() -> None:
    """Have a person agree where what pairs a browser could be read on the way.

    Raises Failure: the person does not, or cannot be asked.
    """
    status: protocol.DaemonStatus = call("daemon.status")
    warning = status["gateway"].get("warning")
    if warning:
        warn(warning)
        agreed("Pair a browser all the same? [y/N] ", "--yes pairs without asking.")


def agreed(question: str, otherwise: str) -> None:
    """Ask at the terminal. Raises Failure: the answer was no, or there is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Failure(f"This is asked at a terminal: {otherwise}")
    sys.stderr.write(question)
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Failure("Nothing was changed.")


def _with_picture(params: protocol.Pair, file: str) -> tuple[Paired, str | None]:
    """Pair, and save the picture; return ``None`` for its path if that failed in the end.

    The file is made first: a key is shown once and must not be lost because its picture has no
    place.

    Raises:
        Failure: there is such a file, or it cannot be written; nothing is paired then.
    """
    path = os.path.abspath(file)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Failure(f"{text.fold(file)} exists already: name another file.") from None
    except OSError as error:
        raise Failure(f"{text.fold(file)} cannot be written: {error.strerror}.") from None
    written = False
    try:
        with open(descriptor, "wb") as picture:
            told = call("gateway.pair", params)
            written = _write(picture, str(told.pop("png", "")), file)
    finally:
        if not written:
            os.unlink(path)
    return told, path if written else None


def _write(picture: Any, encoded: str, file: str) -> bool:
    from binascii import a2b_base64

    try:
        data = a2b_base64(encoded, strict_mode=True)
        if not data:
            raise ValueError("the daemon sent none")
        picture.write(data)
        picture.flush()
    except (OSError, ValueError) as error:
        text.tell(f"podium: The picture {text.fold(file)} could not be written: {error}.")
        return False
    return True


def _tell(told: protocol.Pairing, saved: str | None) -> None:
    style = text.Style(sys.stdout)
    device = text.fold(told.get("device"))
    text.say(f"Device '{device}' is paired. Its key, shown only now:\n")
    # To be copied: the terminal may break it, which leaves it one word.
    text.emit(f"{style('bold', text.fold(told.get('key')))}\n\n")
    said = [
        _code(str(told.get("qr") or ""), style),
        "Scan the code with the app on the phone, or type the key.",
        _address(text.fold(told.get("url")), style),
        *(_item(str(one.get("text") or "")) for one in told.get("ways") or []),
        *([_folded(str(told["trust"]))] if told.get("trust") else []),
        *(
            [f"The picture of the code is {text.fold(saved)}: delete it once used."]
            if saved
            else []
        ),
        f"To take the key back: podium devices revoke {_argument(device)}",
    ]
    text.say("\n\n".join(said))
    if told.get("warning"):
        warn(str(told["warning"]))


def _tell_page(told: protocol.Invitation, saved: str | None) -> None:
    style = text.Style(sys.stdout)
    text.say(f"Open this in the browser, within {told['url_minutes']} minutes; it is good once:\n")
    text.emit(f"{style('bold', text.fold(told['url']))}\n\n")
    away = is_local(told["url"])
    said = [
        _code(str(told["qr"]), style),
        (
            f"Or open the page and type, within {told['code_minutes']} minutes: "
            f"{style('bold', text.fold(told['code']))}"
        ),
        *(["'podium web setup' makes an address that a phone reaches."] if away else []),
        *([_folded(str(told["trust"]))] if told.get("trust") else []),
        *([f"The picture of the code is {text.fold(saved)}."] if saved else []),
        (
            f"The page may {_MAY[told['scope']]}. 'podium devices scope NAME SCOPE' changes that, "
            "'podium devices revoke NAME' ends it."
        ),
    ]
    text.say("\n\n".join(said))


_MAY = {
    "look": "look at everything, and change nothing (scope look)",
    "answer": "look, and answer questions (scope answer)",
    "work": "look, answer questions and have work done (scope work)",
    "all": "do all that you can at this terminal (scope all)",
}


def warn(warning: str) -> None:
    """Say loudly on standard error what is not safe."""
    style = text.Style(sys.stderr)
    text.tell("\n" + style("red", _folded(f"WARNING: {warning}")))


def _address(url: str, style: text.Style) -> str:
    if is_local(url):
        return (
            f"The gateway listens at {style('bold', url)}, on this machine only.\n"
            "A phone gets to it in one of these ways:"
        )
    return f"Address: {style('bold', url)}"


def is_local(url: str) -> bool:
    """Return whether an address is reachable only from this machine."""
    return any(own in url for own in ("//127.", "//[::1]", "//localhost"))


def _code(code: str, style: text.Style) -> str:
    lines = [f"  {_painted(text.clean(line), style)}" for line in code.splitlines()]
    return "\n".join(lines)


def _painted(line: str, style: text.Style) -> str:
    return f"{INK_ON_PAPER}{line}{RESET}" if style.colours else line


def _item(words: str) -> str:
    return _folded(words, "- ", "  ")


def _folded(words: str, first: str = "", rest: str = "") -> str:
    """Break a paragraph to the terminal's width; never break what is to be copied.

    That is quoted commands, settings with their values, and addresses.
    """
    import re
    import textwrap

    kept = re.sub(
        r"""(?<!\w)'[^']+'(?!\w)|\w+ = "[^"]*\"""",
        lambda found: found[0].replace(" ", "\xa0"),
        text.fold(words),
    )
    folded = textwrap.fill(
        kept,
        min(text.columns() or 80, MOST_COLUMNS),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return folded.replace("\xa0", " ")


def _argument(name: str) -> str:
    from shlex import quote

    return f"{'-- ' if name.startswith('-') else ''}{quote(name)}"


def devices(json: bool) -> int:
    """``podium devices``."""
    answer: list[protocol.Device] = call("gateway.devices")
    if json:
        text.emit_json(answer)
    elif not answer:
        text.say("No paired devices: 'podium pair' gives a phone a key.")
    else:
        headings = ("PAIRED", "SEEN", "KIND", "SCOPE", "DEVICE")
        text.emit(text.table(headings, map(_row, answer), text.columns()))
    return OK


def _row(device: protocol.Device) -> tuple[str, ...]:
    seen = "connected" if device.get("connected") else text.ago(device.get("last_seen"))
    kind, scope = str(device.get("kind") or "phone"), str(device.get("scope") or "all")
    return text.ago(device.get("paired_at")), seen, kind, scope, str(device.get("name") or "")


def revoke(device: str, json: bool) -> int:
    """``podium devices revoke``."""
    call("gateway.revoke", {"device": device})
    said = f"The key of '{text.fold(device)}' is taken back; its connections are cut."
    return text.report({"revoked": device}, said, json=json)


def scope(device: str, scope: Scope, json: bool) -> int:
    """``podium devices scope``."""
    call("gateway.scope", {"device": device, "scope": scope})
    said = f"'{text.fold(device)}' may now {_MAY[scope]}."
    return text.report({"device": device, "scope": scope}, said, json=json)
