"""A phone's messages about sessions: following, lists, summing up, stopping, names, trees."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import trio

from podiumd.gateway.phone.feed import shared_messages
from podiumd.gateway.phone.protocol import budget, outgoing, requests
from podiumd.observe.logs import log
from podiumd.projects.errors import WorktreeRefused
from podiumd.projects.worktrees import Worktree
from podiumd.runtime.api import SendPrompt
from podiumd.runtime.errors import PodiumError
from podiumd.store.errors import StoreError
from podiumd.tools.git import queries as git

if TYPE_CHECKING:
    from podiumd.gateway.phone.services import ServedPhone

UNDOING_SECONDS = 20.0

FIRST_WORDS = (
    "You are in a git worktree of its own for the session '{name}', on branch '{branch}'. "
    "Do nothing yet; answer with one short sentence and wait for the task."
)


async def ping(phone: ServedPhone, _: requests.Ping) -> None:
    phone.send(outgoing.pong())


async def connect(phone: ServedPhone, _: requests.Connect) -> None:
    """Send the lists once more to an app that connects again on the same connection."""
    phone.send(outgoing.connected(None, phone.version))
    await phone.send_lists()


async def refresh_sessions(phone: ServedPhone, message: requests.RefreshSessions) -> None:
    phone.recents = message.recent
    await phone.send_lists()


async def set_max_message_size(phone: ServedPhone, message: requests.SetMaxMessageSize) -> None:
    phone.budget = budget.kilobytes(message.size_kb) * budget.KB
    phone.send(outgoing.size_ack(message.size_kb))


async def message_ack(_phone: ServedPhone, _message: requests.MessageAck) -> None:
    """Do nothing: nothing waits for it, and a phone gets what it missed by its cursor."""


async def subscribe(phone: ServedPhone, message: requests.Subscribe) -> None:
    await phone.following.subscribe(message)


async def unsubscribe(phone: ServedPhone, message: requests.Unsubscribe) -> None:
    phone.following.leave(message.session_id)


async def session_deleted(phone: ServedPhone, message: requests.SessionDeleted) -> None:
    phone.following.forget(message.session_id)
    phone.told.add([message.session_id])


async def compact_session(phone: ServedPhone, message: requests.CompactSession) -> None:
    async def compact() -> None:
        session_id = message.session_id
        try:
            await phone.hub.service.sessions_compact(session_id)
        except PodiumError as refusal:
            phone.send(outgoing.compaction_error(session_id, refusal.message))
        else:
            phone.send(outgoing.compaction_complete(session_id))

    phone.spawn(compact)


async def kill_session(phone: ServedPhone, message: requests.KillSession) -> None:
    async def kill() -> None:
        await phone.hub.service.interrupt_session(message.session_id)
        phone.send(outgoing.session_killed(message.session_id))

    phone.stop(f"session {message.session_id}", kill)


async def infer_session_name(phone: ServedPhone, message: requests.InferSessionName) -> None:
    async def infer() -> None:
        name = await phone.hub.workshop.infer_name(message.message_text)
        phone.send(outgoing.session_name_inferred(message.session_id, name))

    phone.spawn(infer)


async def create_worktree_session(
    phone: ServedPhone, message: requests.CreateWorktreeSession
) -> None:
    async def create() -> None:
        workshop, service = phone.hub.workshop, phone.hub.service
        try:
            made = await workshop.worktrees.create(message.session_name, message.parent_directory)
        except WorktreeRefused as refusal:
            phone.send(outgoing.worktree_session_error(str(refusal), refusal.error_type))
            return
        session_id = str(uuid.uuid4())
        try:
            await service.prompt(
                SendPrompt(
                    text=FIRST_WORDS.format(name=message.session_name, branch=made.branch),
                    new_session_id=session_id,
                    working_directory=made.path,
                    agent=message.provider,
                )
            )
        except (PodiumError, StoreError) as error:
            await _discard(phone, made)
            why = error.message if isinstance(error, PodiumError) else shared_messages.NOT_STORED
            phone.send(outgoing.worktree_session_error(why, "agent_failed"))
            return
        except BaseException:
            with trio.move_on_after(UNDOING_SECONDS, shield=True):
                await _discard(phone, made)
            raise
        log("Worktree session made", device=phone.device, path=made.path)
        phone.send(outgoing.worktree_session_created(session_id, made.path, made.branch))

    phone.spawn(create, lasting=True)


async def _discard(phone: ServedPhone, made: Worktree) -> None:
    """Leave nothing of a worktree in which no session was begun."""
    try:
        await phone.hub.workshop.worktrees.discard(made)
    except git.GitError as error:
        log("Worktree not removed", "warning", path=made.path, error=str(error))


async def set_directory(phone: ServedPhone, message: requests.SetDirectory) -> None:
    phone.directory = message.path
    await phone.send_commands(message.path)
