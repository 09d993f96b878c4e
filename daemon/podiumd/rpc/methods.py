"""The methods of the socket: a handler for each that ``podiumd.wire`` declares, sorted by name.

Handlers are thin: they pass checked parameters to the service and its answer back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podiumd.config_load import ConfigError
from podiumd.paths import PlaceError
from podiumd.rpc import voice_methods
from podiumd.rpc.adapter import Method, bind
from podiumd.rpc.context import RequestContext
from podiumd.rpc.params import check_agent_text
from podiumd.runtime.api import Json, SendPrompt, StartRun
from podiumd.runtime.errors import Refused
from podiumd.wire import daemon, events, gateway, questions, recipes, runs, sessions
from podiumd.wire.fields import Nothing

_EVENTS_A_PAGE: Final = 5000
_MESSAGES: Final = "session.messages"
_LOCAL_USER: Final = "local"  # who answered a question: the socket serves one person only

Ctx = RequestContext


async def _ping(context: Ctx, params: Nothing) -> Json:
    return {"pong": True}


async def _status(context: Ctx, params: Nothing) -> Json:
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


async def _configure(context: Ctx, params: daemon.Configure) -> Json:
    return await context.service.configure(params.orchestration_enabled)


async def _configuration(context: Ctx, params: Nothing) -> Json:
    return context.info.settings.document()


async def _reload(context: Ctx, params: Nothing) -> Json:
    try:
        return await context.info.settings.reload()
    except (ConfigError, PlaceError) as error:
        first, _, more = str(error).partition("\n")
        others = f" (and {more.count(chr(10)) + 1} more)" if more else ""
        words = (
            f"The configuration was not taken, the one before it stays in force: {first}{others}"
        )
        raise Refused(words) from None


async def _shutdown(context: Ctx, params: daemon.Shutdown) -> Json:
    context.info.request_shutdown(params.turns)
    return {}


async def _events_subscribe(context: Ctx, params: events.Subscribe) -> Json:
    types = None if params.types is None else frozenset(params.types)
    feed = context.service.subscribe(types, params.after)
    return {"pos": (await context.open_feed(feed, "event")).start}


async def _gateway_devices(context: Ctx, params: Nothing) -> list[Json]:
    return context.info.gateway.devices()


async def _gateway_pair(context: Ctx, params: gateway.Pair) -> Json:
    return await context.info.gateway.pair(params.name, params.png)


async def _gateway_revoke(context: Ctx, params: gateway.Revoke) -> Json:
    await context.info.gateway.revoke(params.device)
    return {}


async def _questions_answer(context: Ctx, params: questions.Answer) -> Json:
    return await context.service.answer(params.question_id, params.answer, params.note, _LOCAL_USER)


async def _questions_list(context: Ctx, params: Nothing) -> list[Json]:
    return await context.service.questions()


async def _recipes_get(context: Ctx, params: recipes.GetRecipe) -> Json:
    return await context.service.recipes_get(params.id, params.working_directory)


async def _recipes_list(context: Ctx, params: recipes.InDirectory) -> list[Json]:
    return await context.service.recipes_list(params.working_directory)


async def _recipes_outcome(context: Ctx, params: recipes.ParseOutcome) -> Json:
    return await context.service.recipes_outcome(
        params.id, params.step, params.text, params.working_directory
    )


async def _recipes_check(context: Ctx, params: recipes.CheckRecipe) -> Json:
    return await context.service.recipes_check(
        params.path, params.text, params.id, params.working_directory
    )


async def _recipes_graph(context: Ctx, params: recipes.DrawRecipe) -> Json:
    return await context.service.recipes_graph(params.id, params.format, params.working_directory)


async def _recipes_paths(context: Ctx, params: recipes.GetRecipe) -> Json:
    return await context.service.recipes_paths(params.id, params.working_directory)


async def _recipes_rehearse(context: Ctx, params: recipes.Rehearse) -> Json:
    return await context.service.recipes_rehearse(
        params.id, params.step, params.replies, params.working_directory
    )


async def _recipes_simulate(context: Ctx, params: recipes.Simulate) -> Json:
    return await context.service.recipes_simulate(
        params.id, params.outcomes, params.working_directory
    )


async def _recipes_trust(context: Ctx, params: recipes.TrustRecipes) -> list[Json]:
    return await context.service.recipes_trust(params.working_directory, params.digests)


async def _runs_cancel(context: Ctx, params: runs.OneRun) -> Json:
    return await context.service.cancel(params.run_id)


async def _runs_diff(context: Ctx, params: runs.DiffRun) -> Json:
    return await context.service.run_diff(params.run_id, params.patch)


async def _runs_events(context: Ctx, params: runs.RunEvents) -> Json:
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


async def _runs_get(context: Ctx, params: runs.OneRun) -> Json:
    return await context.service.get_run(params.run_id, whole=True)


async def _runs_interrupt(context: Ctx, params: runs.OneRun) -> Json:
    return await context.service.interrupt(params.run_id)


async def _runs_list(context: Ctx, params: runs.ListRuns) -> list[Json]:
    return await context.service.list_runs(params.active, params.limit, params.before)


async def _runs_pause(context: Ctx, params: runs.OneRun) -> Json:
    return await context.service.pause(params.run_id)


async def _runs_resume(context: Ctx, params: runs.OneRun) -> Json:
    return await context.service.resume(params.run_id)


async def _runs_start(context: Ctx, params: runs.RunStart) -> Json:
    for text in params.params.values():
        if isinstance(text, str):
            check_agent_text("params", text)
    return await context.service.start_run(StartRun(**msgspec.structs.asdict(params)))


async def _runs_steer(context: Ctx, params: runs.Steer) -> Json:
    check_agent_text("text", params.text)
    return await context.service.steer(params.run_id, params.text)


async def _sessions_compact(context: Ctx, params: sessions.OneSession) -> Json:
    await context.service.sessions_compact(params.session_id)
    return {}


async def _sessions_forget(context: Ctx, params: sessions.OneSession) -> Json:
    await context.service.sessions_forget(params.session_id)
    return {}


async def _sessions_get(context: Ctx, params: sessions.OneSession) -> Json:
    return await context.service.sessions_get(params.session_id)


async def _sessions_interrupt(context: Ctx, params: sessions.OneSession) -> Json:
    await context.service.interrupt_session(params.session_id)
    return {}


async def _sessions_list(context: Ctx, params: sessions.ListSessions) -> Json:
    return await context.service.sessions_list(
        params.working_directory, params.limit, params.before
    )


async def _sessions_locks(context: Ctx, params: Nothing) -> list[Json]:
    return await context.service.locks()


async def _sessions_messages(context: Ctx, params: sessions.SessionMessages) -> Json:
    return await context.service.sessions_messages(
        params.session_id, params.after_seq, params.limit
    )


async def _sessions_prompt(context: Ctx, params: sessions.Prompt) -> Json:
    check_agent_text("text", params.text)
    return await context.service.prompt(SendPrompt(**msgspec.structs.asdict(params)))


async def _sessions_subscribe(context: Ctx, params: sessions.SessionMessages) -> Json:
    source = context.service.follow_session(params.session_id, params.after_seq, params.limit)
    feed = await context.open_feed(source, _MESSAGES)
    return feed.answer


async def _sessions_unsubscribe(context: Ctx, params: sessions.OneSession) -> Json:
    context.close_feed(_MESSAGES, params.session_id)
    return {}


async def _worktrees_list(context: Ctx, params: Nothing) -> Sequence[Json]:
    return await context.service.worktrees.list()


async def _worktrees_merge(context: Ctx, params: runs.OneRun) -> Json:
    return await context.service.worktrees.merge(params.run_id)


async def _worktrees_remove(context: Ctx, params: runs.RemoveWorktree) -> Json:
    return await context.service.worktrees.remove(params.run_id, force=params.force)


async def _tool_message(context: Ctx, params: daemon.ToolMessage) -> Json:
    reply = await context.info.tools(params.token, params.message, params.delivery)
    return {"reply": reply}


async def _prune(context: Ctx, params: daemon.Prune) -> Json:
    return await context.service.storage.prune(
        params.what, dry_run=params.dry_run, vacuum=params.vacuum
    )


async def _usage(context: Ctx, params: Nothing) -> Json:
    return await context.service.storage.usage()


METHODS: Final[tuple[Method[RequestContext], ...]] = (
    bind(daemon.CONFIGURATION, _configuration),
    bind(daemon.CONFIGURE, _configure),
    bind(daemon.PING, _ping),
    bind(daemon.RELOAD, _reload),
    bind(daemon.SHUTDOWN, _shutdown),
    bind(daemon.STATUS, _status),
    bind(events.SUBSCRIBE, _events_subscribe),
    bind(gateway.DEVICES, _gateway_devices),
    bind(gateway.PAIR, _gateway_pair),
    bind(gateway.REVOKE, _gateway_revoke),
    bind(daemon.TOOL_MESSAGE, _tool_message),
    bind(questions.ANSWER, _questions_answer),
    bind(questions.LIST, _questions_list),
    bind(recipes.CHECK, _recipes_check),
    bind(recipes.GET, _recipes_get),
    bind(recipes.GRAPH, _recipes_graph),
    bind(recipes.LIST, _recipes_list),
    bind(recipes.OUTCOME, _recipes_outcome),
    bind(recipes.PATHS, _recipes_paths),
    bind(recipes.REHEARSE, _recipes_rehearse),
    bind(recipes.SIMULATE, _recipes_simulate),
    bind(recipes.TRUST, _recipes_trust),
    bind(runs.CANCEL, _runs_cancel),
    bind(runs.DIFF, _runs_diff),
    bind(runs.EVENTS, _runs_events),
    bind(runs.GET, _runs_get),
    bind(runs.INTERRUPT, _runs_interrupt),
    bind(runs.LIST, _runs_list),
    bind(runs.PAUSE, _runs_pause),
    bind(runs.RESUME, _runs_resume),
    bind(runs.START, _runs_start),
    bind(runs.STEER, _runs_steer),
    bind(sessions.COMPACT, _sessions_compact),
    bind(sessions.FORGET, _sessions_forget),
    bind(sessions.GET, _sessions_get),
    bind(sessions.INTERRUPT, _sessions_interrupt),
    bind(sessions.LIST, _sessions_list),
    bind(sessions.LOCKS, _sessions_locks),
    bind(sessions.MESSAGES, _sessions_messages),
    bind(sessions.PROMPT, _sessions_prompt),
    bind(sessions.SUBSCRIBE, _sessions_subscribe),
    bind(sessions.UNSUBSCRIBE, _sessions_unsubscribe),
    bind(daemon.PRUNE, _prune),
    bind(daemon.USAGE, _usage),
    *voice_methods.VOICE_METHODS,
    bind(runs.WORKTREES, _worktrees_list),
    bind(runs.MERGE_WORKTREE, _worktrees_merge),
    bind(runs.REMOVE_WORKTREE, _worktrees_remove),
)
