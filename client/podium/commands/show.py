"""``podium show``: a session's conversation, and what is added to it."""

from __future__ import annotations

import sys

from podium import text, wire
from podium.agent_kinds import WITHOUT_SESSIONS
from podium.commands.sessions import MOST_LISTED, whole_number
from podium.errors import NOT_FOUND, Failure, Refusal
from podium.render import messages as conversation
from podium.render.words import holder_words, home_relative, recipe_words
from podium.rpc.connection import Connection
from podium.rpc.feed import guarded
from podium.rpc.session_feed import SessionFeed, last_messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from podium import protocol


SHOWN = 20


def show(session: str, count: str | None, follow_on: bool, json: bool) -> int:
    """``podium show``."""
    wanted = whole_number("-n", count, SHOWN, least=0, most=MOST_LISTED)
    connection = Connection()
    row = _row(connection, session)
    session_id = str(row["session_id"])
    page = last_messages(connection, session_id, wanted)
    if json and not follow_on:
        return text.emit_json({"session": row, **page})
    tell = _lines if json else _words
    if not follow_on:
        text.emit(_header(row, page, session))
        tell(page["messages"])
        return 0

    def following() -> int:
        if not json:
            text.emit(_header(row, page, session))
        tell(page["messages"])
        feed = SessionFeed(connection, session_id, page["next_seq"])
        known = page["generation"]
        while True:
            messages = feed.take()
            if feed.generation != known:
                known = feed.generation
                text.tell(
                    "podium: the agent rewrote its transcript: "
                    "messages above may no longer be in it."
                )
            tell(messages)
            if not messages:
                feed.wait()

    return guarded(
        following, f": 'podium show {text.short(session_id)} --follow' follows it again."
    )


def _row(connection: Connection, named: str) -> protocol.Session:
    """Get the session.

    Raises:
        Failure: there is none; the message names the run of a session that has no transcript.
    """
    try:
        row: protocol.Session = connection.call("sessions.get", {"session_id": named})
        return row
    except Refusal as refusal:
        if refusal.code != NOT_FOUND:
            raise
        runs: list[protocol.Run] = connection.call("runs.list", {"limit": 1000})
        run = next((one for one in runs if str(one.get("session_id")).startswith(named)), None)
        if run is None:
            raise
        agent = run.get("agent")
        kept = f"the {agent} agent keeps none" if agent in WITHOUT_SESSIONS else "not yet"
        run_id = text.short(run.get("run_id"))
        raise Failure(
            f"Session '{named}' has no transcript ({kept}): 'podium runs show {run_id}' and "
            f"'podium runs log {run_id}' have what there is."
        ) from refusal


def _lines(messages: list[protocol.Message]) -> None:
    text.emit("".join(wire.encode(message) + "\n" for message in messages))


def _words(messages: list[protocol.Message]) -> None:
    text.emit(conversation.told(messages, text.Style(sys.stdout), text.columns()))


def _header(row: protocol.Session, page: protocol.MessagesPage, named: str) -> str:
    """Describe the session and count its messages before those that follow."""
    style = text.Style(sys.stdout)
    lines = [style("bold", text.fold(row.get("name") or "A session without a name"))]
    facts = [(name, text.fold(said)) for name, said in _facts(row)]
    lines += [text.block(facts, text.columns(), style)]
    messages = page["messages"]
    first = messages[0]["seq"] if messages else page["last_seq"] + 1
    earlier = first - page["first_seq"] if page["last_seq"] else 0
    if earlier:
        whole = page["last_seq"] - page["first_seq"] + 1
        told = text.counted(earlier, "earlier message")
        how = f"'podium show {text.fold(named)} -n {whole}' shows all"
        lines += ["", style("dim", f"… {told}: {how}")]
    elif not messages:
        lines += ["", "No messages yet."]
    return "\n".join(lines) + "\n"


def _facts(row: protocol.Session) -> list[tuple[str, str]]:
    holder, recipe = row.get("holder"), row.get("active_recipe")
    held = f"{holder_words(holder)}, {text.ago(holder.get('since'))}" if holder else ""
    running = ""
    if recipe:
        attach = f"'podium attach {text.short(recipe.get('run_id'))}'"
        running = f"{recipe_words(recipe)} ({attach})"
    forget = f"'podium sessions --forget {row['session_id']}' takes it off the list"
    return [
        ("session", str(row["session_id"])),
        ("agent", str(row.get("agent") or "")),
        ("directory", home_relative(row.get("working_directory"))),
        ("messages", f"{row.get('message_count')}, {text.ago(row.get('last_modified'))}"),
        ("held by", held),
        ("recipe", running),
        ("gone", f"its transcript was deleted; {forget}" if row.get("gone") else ""),
    ]
