"""The methods of the socket: one sorted table of name, parameters, handler and purpose.

Handlers are thin: they pass checked parameters to the service and its answer back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podiumd.config_load import ConfigError
from podiumd.paths import PlaceError
from podiumd.rpc import mcp_methods, storage_methods, voice_methods
from podiumd.rpc import params as p
from podiumd.rpc.adapter import Method
from podiumd.rpc.context import RequestContext
from podiumd.runtime.api import Json, SendPrompt, StartRun
from podiumd.runtime.errors import Refused

_EVENTS_A_PAGE: Final = 5000
_MESSAGES: Final = "session.messages"
_LOCAL_USER: Final = "local"  # who answered a question: the socket serves one person only

Ctx = RequestContext


async def _ping(context: Ctx, params: p.Nothing) -> Json:
    return {"pong": True}


async def _status(context: Ctx, params: p.Nothing) -> Json:
    info = context.info
    own = {
        "version": info.version,
        "pid": info.pid,
        "started_at": info.started_at,
        "socket": info.socket,
        "service": info.service,
        "gateway": info.gateway.status(),
        "voice": voice_methods.state_of(info.voice),
        "configuration": info.settings.status(),
        **info.settings.bounds(),
    }
    return own | await context.service.status()


async def _configure(context: Ctx, params: p.Configure) -> Json:
    return await context.service.configure(params.orchestration_enabled)


async def _configuration(context: Ctx, params: p.Nothing) -> Json:
    return context.info.settings.document()


async def _reload(context: Ctx, params: p.Nothing) -> Json:
    try:
        return await context.info.settings.reload()
    except (ConfigError, PlaceError) as error:
        first, _, more = str(error).partition("\n")
        others = f" (and {more.count(chr(10)) + 1} more)" if more else ""
        words = (
            f"The configuration was not taken, the one before it stays in force: {first}{others}"
        )
        raise Refused(words) from None


async def _shutdown(context: Ctx, params: p.Shutdown) -> Json:
    context.info.request_shutdown(params.turns)
    return {}


async def _events_subscribe(context: Ctx, params: p.Subscribe) -> Json:
    types = None if params.types is None else frozenset(params.types)
    feed = context.service.subscribe(types, params.after)
    return {"pos": (await context.open_feed(feed, "event")).start}


async def _gateway_devices(context: Ctx, params: p.Nothing) -> list[Json]:
    return context.info.gateway.devices()


async def _gateway_pair(context: Ctx, params: p.Pair) -> Json:
    return await context.info.gateway.pair(params.name, params.png)


async def _gateway_revoke(context: Ctx, params: p.Revoke) -> Json:
    await context.info.gateway.revoke(params.device)
    return {}


async def _questions_answer(context: Ctx, params: p.Answer) -> Json:
    return await context.service.answer(params.question_id, params.answer, params.note, _LOCAL_USER)


async def _questions_list(context: Ctx, params: p.Nothing) -> list[Json]:
    return await context.service.questions()


async def _recipes_get(context: Ctx, params: p.GetRecipe) -> Json:
    return await context.service.recipes_get(params.id, params.working_directory)


async def _recipes_list(context: Ctx, params: p.InDirectory) -> list[Json]:
    return await context.service.recipes_list(params.working_directory)


async def _recipes_outcome(context: Ctx, params: p.ParseOutcome) -> Json:
    return await context.service.recipes_outcome(
        params.id, params.step, params.text, params.working_directory
    )


async def _recipes_check(context: Ctx, params: p.CheckRecipe) -> Json:
    return await context.service.recipes_check(
        params.path, params.text, params.id, params.working_directory
    )


async def _recipes_graph(context: Ctx, params: p.DrawRecipe) -> Json:
    return await context.service.recipes_graph(params.id, params.format, params.working_directory)


async def _recipes_paths(context: Ctx, params: p.GetRecipe) -> Json:
    return await context.service.recipes_paths(params.id, params.working_directory)


async def _recipes_rehearse(context: Ctx, params: p.Rehearse) -> Json:
    return await context.service.recipes_rehearse(
        params.id, params.step, params.replies, params.working_directory
    )


async def _recipes_simulate(context: Ctx, params: p.Simulate) -> Json:
    return await context.service.recipes_simulate(
        params.id, params.outcomes, params.working_directory
    )


async def _recipes_trust(context: Ctx, params: p.TrustRecipes) -> list[Json]:
    return await context.service.recipes_trust(params.working_directory, params.digests)


async def _runs_cancel(context: Ctx, params: p.OneRun) -> Json:
    return await context.service.cancel(params.run_id)


async def _runs_diff(context: Ctx, params: p.DiffRun) -> Json:
    return await context.service.run_diff(params.run_id, params.patch)


async def _runs_events(context: Ctx, params: p.RunEvents) -> Json:
    service, told = context.service, None
    page = params.run_id, params.after_seq, _EVENTS_A_PAGE
    if params.follow:
        events, next_seq, told = await service.run_told(*page)
    else:
        events, next_seq = await service.run_events(*page)
    ended = bool(events) and events[-1]["type"] == "run.ended"
    if params.follow and not ended:
        await context.open_feed(service.follow_run(params.run_id, next_seq, told), "run.event")
    return {"events": events, "next_seq": next_seq}


async def _runs_get(context: Ctx, params: p.OneRun) -> Json:
    return await context.service.get_run(params.run_id, whole=True)


async def _runs_interrupt(context: Ctx, params: p.OneRun) -> Json:
    return await context.service.interrupt(params.run_id)


async def _runs_list(context: Ctx, params: p.ListRuns) -> list[Json]:
    return await context.service.list_runs(params.active, params.limit, params.before)


async def _runs_pause(context: Ctx, params: p.OneRun) -> Json:
    return await context.service.pause(params.run_id)


async def _runs_resume(context: Ctx, params: p.OneRun) -> Json:
    return await context.service.resume(params.run_id)


async def _runs_start(context: Ctx, params: p.RunStart) -> Json:
    for text in params.params.values():
        if isinstance(text, str):
            p.check_agent_text("params", text)
    return await context.service.start_run(StartRun(**msgspec.structs.asdict(params)))


async def _runs_steer(context: Ctx, params: p.Steer) -> Json:
    p.check_agent_text("text", params.text)
    return await context.service.steer(params.run_id, params.text)


async def _sessions_compact(context: Ctx, params: p.OneSession) -> Json:
    await context.service.sessions_compact(params.session_id)
    return {}


async def _sessions_forget(context: Ctx, params: p.OneSession) -> Json:
    await context.service.sessions_forget(params.session_id)
    return {}


async def _sessions_get(context: Ctx, params: p.OneSession) -> Json:
    return await context.service.sessions_get(params.session_id)


async def _sessions_interrupt(context: Ctx, params: p.OneSession) -> Json:
    await context.service.interrupt_session(params.session_id)
    return {}


async def _sessions_list(context: Ctx, params: p.ListSessions) -> Json:
    return await context.service.sessions_list(
        params.working_directory, params.limit, params.before
    )


async def _sessions_locks(context: Ctx, params: p.Nothing) -> list[Json]:
    return await context.service.locks()


async def _sessions_messages(context: Ctx, params: p.SessionMessages) -> Json:
    return await context.service.sessions_messages(
        params.session_id, params.after_seq, params.limit
    )


async def _sessions_prompt(context: Ctx, params: p.Prompt) -> Json:
    p.check_agent_text("text", params.text)
    return await context.service.prompt(SendPrompt(**msgspec.structs.asdict(params)))


async def _sessions_subscribe(context: Ctx, params: p.SessionMessages) -> Json:
    source = context.service.follow_session(params.session_id, params.after_seq, params.limit)
    feed = await context.open_feed(source, _MESSAGES)
    return feed.answer


async def _sessions_unsubscribe(context: Ctx, params: p.OneSession) -> Json:
    context.close_feed(_MESSAGES, params.session_id)
    return {}


async def _worktrees_list(context: Ctx, params: p.Nothing) -> Sequence[Json]:
    return await context.service.worktrees.list()


async def _worktrees_merge(context: Ctx, params: p.OneRun) -> Json:
    return await context.service.worktrees.merge(params.run_id)


async def _worktrees_remove(context: Ctx, params: p.RemoveWorktree) -> Json:
    return await context.service.worktrees.remove(params.run_id, force=params.force)


METHODS: Final[tuple[Method[RequestContext], ...]] = (
    Method("daemon.configuration", p.Nothing, _configuration, "The settings in force."),
    Method("daemon.configure", p.Configure, _configure, "Switch recipes on or off."),
    Method("daemon.ping", p.Nothing, _ping, "Prove that the daemon answers.", "instant"),
    Method("daemon.reload", p.Nothing, _reload, "Read the configuration anew."),
    Method("daemon.shutdown", p.Shutdown, _shutdown, "Stop the daemon.", "instant"),
    Method("daemon.status", p.Nothing, _status, "What the daemon is and does."),
    Method("events.subscribe", p.Subscribe, _events_subscribe, "Follow every event."),
    Method("gateway.devices", p.Nothing, _gateway_devices, "The paired devices."),
    Method("gateway.pair", p.Pair, _gateway_pair, "A key for one more device, told once."),
    Method("gateway.revoke", p.Revoke, _gateway_revoke, "Take a device's key back."),
    *mcp_methods.MCP_METHODS,
    Method("questions.answer", p.Answer, _questions_answer, "Answer an open question."),
    Method("questions.list", p.Nothing, _questions_list, "The open questions."),
    Method("recipes.check", p.CheckRecipe, _recipes_check, "The faults of a recipe."),
    Method("recipes.get", p.GetRecipe, _recipes_get, "One recipe as data."),
    Method("recipes.graph", p.DrawRecipe, _recipes_graph, "A recipe as a picture's text."),
    Method("recipes.list", p.InDirectory, _recipes_list, "The recipes, shadowed ones left out."),
    Method("recipes.outcome", p.ParseOutcome, _recipes_outcome, "What a reply would mean."),
    Method("recipes.paths", p.GetRecipe, _recipes_paths, "Every simple path to each exit."),
    Method("recipes.rehearse", p.Rehearse, _recipes_rehearse, "Play one step with replies."),
    Method("recipes.simulate", p.Simulate, _recipes_simulate, "Walk a recipe without an agent."),
    Method("recipes.trust", p.TrustRecipes, _recipes_trust, "Trust a project's recipes."),
    Method("runs.cancel", p.OneRun, _runs_cancel, "End a run and its agent.", "waiting"),
    Method("runs.diff", p.DiffRun, _runs_diff, "What a run has changed.", "waiting"),
    Method("runs.events", p.RunEvents, _runs_events, "Events of a run, and follow them."),
    Method("runs.get", p.OneRun, _runs_get, "One run."),
    Method("runs.interrupt", p.OneRun, _runs_interrupt, "Stop the turn and pause.", "waiting"),
    Method("runs.list", p.ListRuns, _runs_list, "Runs of recipes, newest first."),
    Method("runs.pause", p.OneRun, _runs_pause, "Pause at the end of the turn."),
    Method("runs.resume", p.OneRun, _runs_resume, "Go on after a pause."),
    Method("runs.start", p.RunStart, _runs_start, "Start a recipe."),
    Method("runs.steer", p.Steer, _runs_steer, "Tell the running turn something.", "waiting"),
    Method(
        "sessions.compact",
        p.OneSession,
        _sessions_compact,
        "Have the agent sum a session up.",
        "waiting",
    ),
    Method("sessions.forget", p.OneSession, _sessions_forget, "Drop a session that is gone."),
    Method("sessions.get", p.OneSession, _sessions_get, "One session."),
    Method(
        "sessions.interrupt",
        p.OneSession,
        _sessions_interrupt,
        "Stop the session's turn.",
        "waiting",
    ),
    Method("sessions.list", p.ListSessions, _sessions_list, "Sessions, newest first."),
    Method("sessions.locks", p.Nothing, _sessions_locks, "Who holds which session and tree."),
    Method("sessions.messages", p.SessionMessages, _sessions_messages, "Messages of a session."),
    Method("sessions.prompt", p.Prompt, _sessions_prompt, "Send one prompt.", "waiting"),
    Method(
        "sessions.subscribe",
        p.SessionMessages,
        _sessions_subscribe,
        "Messages of a session, and follow them.",
    ),
    Method(
        "sessions.unsubscribe",
        p.OneSession,
        _sessions_unsubscribe,
        "Follow a session no more.",
    ),
    *storage_methods.STORAGE_METHODS,
    *voice_methods.VOICE_METHODS,
    Method("worktrees.list", p.Nothing, _worktrees_list, "The worktrees of runs.", "waiting"),
    Method("worktrees.merge", p.OneRun, _worktrees_merge, "Merge a run's worktree.", "waiting"),
    Method(
        "worktrees.remove",
        p.RemoveWorktree,
        _worktrees_remove,
        "Remove a run's worktree.",
        "waiting",
    ),
)
