"""The methods of the socket: a handler for each that ``podiumd.wire`` declares, sorted by name.

Handlers are thin: they pass checked parameters to the service and its answer back.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw
from msgspec.structs import asdict

from podiumd.config.load import ConfigError
from podiumd.config.paths import PlaceError
from podiumd.core.analysis.rehearse import Accepted, Rejected, StepPlay
from podiumd.core.analysis.rehearse_conversation import PhasePlay
from podiumd.core.analysis.simulate import Trace
from podiumd.core.recipe.paths import Paths
from podiumd.rpc import voice_methods
from podiumd.rpc.adapter import Method, bind
from podiumd.rpc.context import RequestContext
from podiumd.rpc.params import check_agent_text
from podiumd.runtime.api import SendPrompt, StartRun
from podiumd.runtime.errors import Refused
from podiumd.wire import daemon, events, gateway, questions, recipes, runs, sessions
from podiumd.wire.event import RUN_ENDED
from podiumd.wire.fields import Done, JsonObject, Nothing

_EVENTS_A_PAGE: Final = 5000
_MESSAGES: Final = sessions.NEW_MESSAGES.name
_LOCAL_USER: Final = "local"  # who answered a question: the socket serves one person only

Ctx = RequestContext


async def _ping(context: Ctx, params: Nothing) -> daemon.Pong:
    return daemon.Pong(pong=True)


async def _status(context: Ctx, params: Nothing) -> daemon.DaemonStatus:
    info, activity = context.info, await context.service.status()
    return daemon.DaemonStatus(
        version=info.version,
        pid=info.pid,
        started_at=info.started_at,
        socket=info.socket,
        service=info.service,
        gateway=info.gateway.status(),
        voice=voice_methods.state_of(info.voice),
        configuration=info.settings.status(),
        limits=info.settings.limits(),
        retention=info.settings.retention(),
        **asdict(activity),
    )


async def _configure(context: Ctx, params: daemon.Configure) -> daemon.Configured:
    return await context.service.configure(params.orchestration_enabled)


async def _configuration(context: Ctx, params: Nothing) -> daemon.Configuration:
    return context.info.settings.document()


async def _reload(context: Ctx, params: Nothing) -> daemon.Reloaded:
    try:
        return await context.info.settings.reload()
    except (ConfigError, PlaceError) as error:
        first, _, more = str(error).partition("\n")
        others = f" (and {more.count(chr(10)) + 1} more)" if more else ""
        words = (
            f"The configuration was not taken, the one before it stays in force: {first}{others}"
        )
        raise Refused(words) from None


async def _shutdown(context: Ctx, params: daemon.Shutdown) -> Done:
    context.info.request_shutdown(params.turns)
    return Done()


async def _events_subscribe(context: Ctx, params: events.Subscribe) -> events.Subscribed:
    types = None if params.types is None else frozenset(params.types)
    feed = context.service.subscribe(types, params.after)
    return events.Subscribed(pos=(await context.open_feed(feed, events.EVENT.name)).start)


async def _gateway_devices(context: Ctx, params: Nothing) -> list[gateway.Device]:
    return context.info.gateway.devices()


async def _gateway_pair(context: Ctx, params: gateway.Pair) -> gateway.Pairing:
    return await context.info.gateway.pair(params.name, params.png)


async def _gateway_revoke(context: Ctx, params: gateway.Revoke) -> Done:
    await context.info.gateway.revoke(params.device)
    return Done()


async def _questions_answer(context: Ctx, params: questions.Answer) -> questions.Question:
    return await context.service.answer(params.question_id, params.answer, params.note, _LOCAL_USER)


async def _questions_list(context: Ctx, params: Nothing) -> list[questions.Question]:
    return await context.service.questions()


async def _recipes_get(context: Ctx, params: recipes.GetRecipe) -> recipes.KnownRecipe:
    return await context.service.recipes.get(params.id, params.working_directory)


async def _recipes_list(context: Ctx, params: recipes.InDirectory) -> list[recipes.RecipeRow]:
    return await context.service.recipes.list(params.working_directory)


async def _recipes_outcome(context: Ctx, params: recipes.ParseOutcome) -> Accepted | Rejected:
    return await context.service.recipes.outcome(
        params.id, params.step, params.text, params.working_directory
    )


async def _recipes_check(context: Ctx, params: recipes.CheckRecipe) -> recipes.CheckReport:
    return await context.service.recipe_tools.check(
        params.path, params.text, params.id, params.working_directory
    )


async def _recipes_graph(context: Ctx, params: recipes.DrawRecipe) -> recipes.Drawing:
    return await context.service.recipe_tools.graph(
        params.id, params.format, params.working_directory
    )


async def _recipes_paths(context: Ctx, params: recipes.GetRecipe) -> Paths:
    return await context.service.recipe_tools.paths(params.id, params.working_directory)


async def _recipes_rehearse(context: Ctx, params: recipes.Rehearse) -> StepPlay | PhasePlay:
    return await context.service.recipe_tools.rehearse(
        params.id, params.step, params.replies, params.working_directory
    )


async def _recipes_simulate(context: Ctx, params: recipes.Simulate) -> Trace:
    return await context.service.recipe_tools.simulate(
        params.id, params.outcomes, params.working_directory
    )


async def _recipes_trust(context: Ctx, params: recipes.TrustRecipes) -> list[recipes.TrustedRecipe]:
    return await context.service.recipes.trust(params.working_directory, params.digests)


async def _runs_cancel(context: Ctx, params: runs.OneRun) -> runs.Run:
    return await context.service.cancel(params.run_id)


async def _runs_diff(context: Ctx, params: runs.DiffRun) -> runs.Diff:
    return await context.service.run_diff(params.run_id, params.patch)


async def _runs_events(context: Ctx, params: runs.RunEvents) -> runs.EventsPage:
    service, told = context.service, None
    page = params.run_id, params.after_seq, _EVENTS_A_PAGE
    if params.follow:
        found, next_seq, told = await service.run_told(*page)
    else:
        found, next_seq = await service.run_events(*page)
    ended = bool(found) and found[-1].type == RUN_ENDED
    if params.follow and not ended:
        feed = service.follow_run(params.run_id, next_seq, told)
        await context.open_feed(feed, events.RUN_EVENT.name)
    return runs.EventsPage(events=tuple(Raw(event.written) for event in found), next_seq=next_seq)


async def _runs_get(context: Ctx, params: runs.OneRun) -> runs.WholeRun:
    return await context.service.whole_run(params.run_id)


async def _runs_history(context: Ctx, params: runs.ReadHistory) -> runs.RunHistory:
    return await context.service.run_history(params.run_id, params.after)


async def _runs_interrupt(context: Ctx, params: runs.OneRun) -> runs.Run:
    return await context.service.interrupt(params.run_id)


async def _runs_list(context: Ctx, params: runs.ListRuns) -> list[runs.Run]:
    return await context.service.list_runs(params.active, params.limit, params.before)


async def _runs_pause(context: Ctx, params: runs.OneRun) -> runs.Run:
    return await context.service.pause(params.run_id)


async def _runs_rename(context: Ctx, params: runs.RenameRun) -> runs.Run:
    return await context.service.rename(params.run_id, params.title)


async def _runs_resume(context: Ctx, params: runs.OneRun) -> runs.Run:
    return await context.service.resume(params.run_id)


async def _runs_start(context: Ctx, params: runs.RunStart) -> runs.Run:
    for text in params.params.values():
        if isinstance(text, str):
            check_agent_text("params", text)
    return await context.service.start_run(StartRun(**asdict(params)))


async def _runs_steer(context: Ctx, params: runs.Steer) -> runs.Steered:
    check_agent_text("text", params.text)
    return await context.service.steer(params.run_id, params.text)


async def _sessions_compact(context: Ctx, params: sessions.OneSession) -> Done:
    await context.service.sessions_compact(params.session_id)
    return Done()


async def _sessions_forget(context: Ctx, params: sessions.OneSession) -> Done:
    await context.service.sessions_forget(params.session_id)
    return Done()


async def _sessions_get(context: Ctx, params: sessions.OneSession) -> sessions.Session:
    return await context.service.sessions_get(params.session_id)


async def _sessions_interrupt(context: Ctx, params: sessions.OneSession) -> Done:
    await context.service.interrupt_session(params.session_id)
    return Done()


async def _sessions_list(context: Ctx, params: sessions.ListSessions) -> sessions.SessionsPage:
    return await context.service.sessions_list(
        params.working_directory, params.limit, params.before
    )


async def _sessions_locks(context: Ctx, params: Nothing) -> list[sessions.Lock]:
    return await context.service.locks()


async def _sessions_messages(
    context: Ctx, params: sessions.SessionMessages
) -> sessions.MessagesPage:
    return await context.service.sessions_messages(
        params.session_id, params.after_seq, params.limit
    )


async def _sessions_prompt(context: Ctx, params: sessions.Prompt) -> sessions.Went | runs.Turn:
    check_agent_text("text", params.text)
    request = SendPrompt(**asdict(params))
    if params.wait:
        return await context.service.prompt_and_wait(request)
    return await context.service.prompt(request)


async def _sessions_subscribe(
    context: Ctx, params: sessions.SessionMessages
) -> sessions.MessagesPage:
    source = context.service.follow_session(params.session_id, params.after_seq, params.limit)
    feed = await context.open_feed(source, _MESSAGES)
    return feed.answer


async def _sessions_unsubscribe(context: Ctx, params: sessions.OneSession) -> Done:
    context.close_feed(_MESSAGES, params.session_id)
    return Done()


async def _worktrees_list(context: Ctx, params: Nothing) -> list[runs.WorktreeRow]:
    return await context.service.worktrees.list()


async def _worktrees_merge(context: Ctx, params: runs.OneRun) -> runs.Merged:
    return await context.service.worktrees.merge(params.run_id)


async def _worktrees_remove(context: Ctx, params: runs.RemoveWorktree) -> runs.Removed:
    return await context.service.worktrees.remove(params.run_id, force=params.force)


async def _tool_message(context: Ctx, params: daemon.ToolMessage) -> daemon.ToolReply:
    reply = await context.info.tools(params.token, params.message, params.delivery)
    return daemon.ToolReply(reply=reply)


async def _prune(context: Ctx, params: daemon.Prune) -> daemon.Pruned:
    return await context.service.storage.prune(
        params.what, dry_run=params.dry_run, vacuum=params.vacuum
    )


async def _usage(context: Ctx, params: Nothing) -> daemon.StorageUsage:
    return await context.service.storage.usage()


async def _discover(context: Ctx, params: Nothing) -> JsonObject:
    from podiumd.wire.document import document  # rarely asked for, and made then

    return document()


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
    bind(daemon.DISCOVER, _discover),
    bind(runs.CANCEL, _runs_cancel),
    bind(runs.DIFF, _runs_diff),
    bind(runs.EVENTS, _runs_events),
    bind(runs.GET, _runs_get),
    bind(runs.HISTORY, _runs_history),
    bind(runs.INTERRUPT, _runs_interrupt),
    bind(runs.LIST, _runs_list),
    bind(runs.PAUSE, _runs_pause),
    bind(runs.RENAME, _runs_rename),
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
