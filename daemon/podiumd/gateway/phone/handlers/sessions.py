"""A phone's messages about sessions: following, lists, summing up, stopping, names, trees."""

from __future__ import annotations

import uuid

import trio

from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.protocol import budget, outgoing, requests
from podiumd.gateway.phone.services import Services
from podiumd.observe.logs import log
from podiumd.projects.errors import WorktreeRefused
from podiumd.projects.worktrees import Worktree
from podiumd.runtime.api import SendPrompt
from podiumd.runtime.errors import PodiumError
from podiumd.store.errors import StoreError
from podiumd.tools.git import queries as git

UNDOING_SECONDS = 20.0

FIRST_WORDS = (
    "You are in a git worktree of its own for the session '{name}', on branch '{branch}'. "
    "Do nothing yet; answer with one short sentence and wait for the task."
)


async def ping(phone: Phone, services: Services, _: requests.Ping) -> None:
    phone.send(outgoing.pong())


async def connect(phone: Phone, services: Services, _: requests.Connect) -> None:
    """Send the lists once more to an app that connects again on the same connection."""
    phone.send(outgoing.connected(None, phone.version))
    await phone.send_lists()


async def refresh_sessions(
    phone: Phone, services: Services, message: requests.RefreshSessions
) -> None:
    phone.recents = message.recent
    await phone.send_lists()


async def set_max_message_size(
    phone: Phone, services: Services, message: requests.SetMaxMessageSize
) -> None:
    phone.budget = budget.kilobytes(message.size_kb) * budget.KB
    phone.send(outgoing.size_ack(message.size_kb))


async def message_ack(_phone: Phone, services: Services, _message: requests.MessageAck) -> None:
    """Do nothing: nothing waits for it, and a phone gets what it missed by its cursor."""


async def subscribe(phone: Phone, services: Services, message: requests.Subscribe) -> None:
    await phone.subscriptions.subscribe(message)


async def unsubscribe(phone: Phone, services: Services, message: requests.Unsubscribe) -> None:
    phone.subscriptions.leave(message.session_id)


async def session_deleted(
    phone: Phone, services: Services, message: requests.SessionDeleted
) -> None:
    phone.subscriptions.forget(message.session_id)
    phone.known.add(message.session_id)


async def compact_session(
    phone: Phone, services: Services, message: requests.CompactSession
) -> None:
    async def compact() -> None:
        session_id = message.session_id
        try:
            await services.service.sessions_compact(session_id)
        except PodiumError as refusal:
            phone.send(outgoing.compaction_error(session_id, refusal.message))
        else:
            phone.send(outgoing.compaction_complete(session_id))

    phone.spawn(compact)


async def kill_session(phone: Phone, services: Services, message: requests.KillSession) -> None:
    async def kill() -> None:
        await services.service.interrupt_session(message.session_id)
        phone.send(outgoing.session_killed(message.session_id))

    phone.stop(f"session {message.session_id}", kill)


async def infer_session_name(
    phone: Phone, services: Services, message: requests.InferSessionName
) -> None:
    async def infer() -> None:
        name = await services.workshop.infer_name(message.message_text)
        phone.send(outgoing.session_name_inferred(message.session_id, name))

    phone.spawn(infer)


async def create_worktree_session(
    phone: Phone, services: Services, message: requests.CreateWorktreeSession
) -> None:
    async def create() -> None:
        workshop, service = services.workshop, services.service
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
            await _discard(services, made)
            why = error.message if isinstance(error, PodiumError) else outgoing.NOT_STORED
            phone.send(outgoing.worktree_session_error(why, "agent_failed"))
            return
        except BaseException:
            with trio.move_on_after(UNDOING_SECONDS, shield=True):
                await _discard(services, made)
            raise
        log("Worktree session made", device=phone.device, path=made.path)
        phone.send(outgoing.worktree_session_created(session_id, made.path, made.branch))

    phone.spawn(create, lasting=True)


async def _discard(services: Services, made: Worktree) -> None:
    """Leave nothing of a worktree in which no session was begun."""
    try:
        await services.workshop.worktrees.discard(made)
    except git.GitError as error:
        log("Worktree not removed", "warning", path=made.path, error=str(error))


async def set_directory(phone: Phone, services: Services, message: requests.SetDirectory) -> None:
    phone.directory = message.path
    await phone.send_commands(message.path)
