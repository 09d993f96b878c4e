"""The methods of the socket: a handler for each that ``podiumd.wire`` declares, sorted by name.

Handlers are thin: they pass checked parameters to the service and its answer back. Most stand in
the table itself, as ``c`` for the context and ``p`` for the parameters; what says more is above it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw
from msgspec.structs import asdict

from podiumd.config.load import ConfigError
from podiumd.config.paths import PlaceError
from podiumd.rpc import voice_methods
from podiumd.rpc.adapter import Method, bind
from podiumd.rpc.context import RequestContext
from podiumd.rpc.params import check_agent_text
from podiumd.runtime.api import SendPrompt, StartRun
from podiumd.runtime.errors import InvalidParameter, Refused
from podiumd.wire import agents, daemon, events, gateway, questions, recipes, runs, sessions
from podiumd.wire.event import RUN_ENDED, TYPES
from podiumd.wire.fields import Done, JsonObject, Nothing
from podiumd.wording import quoted

_EVENTS_A_PAGE: Final = 5000
_MESSAGES: Final = sessions.NEW_MESSAGES.name

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
    if unknown := sorted((types or frozenset()).difference(TYPES)):
        words = f"There is no event {quoted(unknown[0])}; there are: {', '.join(TYPES)}."
        raise InvalidParameter("types", words)
    feed = context.service.subscribe(types, params.after)
    return events.Subscribed(pos=(await context.open_feed(feed, events.EVENT.name)).start)


async def _gateway_devices(context: Ctx, params: Nothing) -> list[gateway.Device]:
    return context.info.gateway.devices()


async def _hello(context: Ctx, params: gateway.Hello) -> gateway.Greeting:
    return gateway.Greeting(
        device=context.caller,
        scope=context.scope,
        version=context.info.version,
        release=await context.info.gateway.release(),
        now=context.info.now(),
    )


async def _gateway_pair(context: Ctx, params: gateway.Pair) -> gateway.Pairing | gateway.Invitation:
    if params.kind == "web":
        return context.info.gateway.invite(params.name, params.png, params.scope)
    return await context.info.gateway.pair(params.name, params.png)


async def _gateway_scope(context: Ctx, params: gateway.Rescope) -> Done:
    await context.info.gateway.rescope(params.device, params.scope)
    return Done()


async def _gateway_revoke(context: Ctx, params: gateway.Revoke) -> Done:
    await context.info.gateway.revoke(params.device)
    return Done()


async def _runs_events(context: Ctx, params: runs.RunEvents) -> runs.EventsPage:
    service, told = context.service, None
    page = params.run_id, params.after_seq, _EVENTS_A_PAGE
    if params.follow:
        found, next_seq, told = await service.run_told(*page)
    else:
        found, next_seq = await service.run_events(*page)
    ended = any(event.type == RUN_ENDED for event in found)  # a title may come after it
    if params.follow and not ended:
        feed = service.follow_run(params.run_id, next_seq, told)
        await context.open_feed(feed, events.RUN_EVENT.name)
    return runs.EventsPage(events=tuple(Raw(event.written) for event in found), next_seq=next_seq)


async def _runs_start(context: Ctx, params: runs.RunStart) -> runs.Run:
    for text in params.params.values():
        if isinstance(text, str):
            check_agent_text("params", text)
    request = StartRun(
        recipe=params.recipe,
        working_directory=params.working_directory,
        session_id=params.session_id,
        params=params.params,
        agent=params.agent,
        model=params.model,
        script=params.script,
        worktree=params.worktree,
        anyway=params.anyway,
        on_question=params.on_question,
        client_token=params.client_token,
    )
    return await context.service.start_run(request)


async def _runs_steer(context: Ctx, params: runs.Steer) -> runs.Steered:
    check_agent_text("text", params.text)
    return await context.service.steer(params.run_id, params.text)


async def _sessions_compact(context: Ctx, params: sessions.OneSession) -> Done:
    await context.service.sessions_compact(params.session_id)
    return Done()


async def _sessions_forget(context: Ctx, params: sessions.OneSession) -> Done:
    await context.service.sessions_forget(params.session_id)
    return Done()


async def _sessions_interrupt(context: Ctx, params: sessions.OneSession) -> Done:
    await context.service.interrupt_session(params.session_id)
    return Done()


async def _sessions_prompt(context: Ctx, params: sessions.Prompt) -> sessions.Went | runs.Turn:
    check_agent_text("text", params.text)
    request = SendPrompt(
        text=params.text,
        session_id=params.session_id,
        working_directory=params.working_directory,
        agent=params.agent,
        model=params.model,
        script=params.script,
        files=params.files,
        if_busy=params.if_busy,
        fork=params.fork,
        take_over=params.take_over,
        wait=params.wait,
        permission_mode=params.permission_mode,
        client_token=params.client_token,
    )
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


async def _tool_message(context: Ctx, params: daemon.ToolMessage) -> daemon.ToolReply:
    reply = await context.info.tools(params.token, params.message, params.delivery)
    return daemon.ToolReply(reply=reply)


async def _discover(context: Ctx, params: Nothing) -> JsonObject:
    from podiumd.wire.document import document  # rarely asked for, and made then

    return document()


METHODS: Final[tuple[Method[RequestContext], ...]] = (
    bind(agents.LIST, lambda c, _: c.info.agents()),
    bind(gateway.HELLO, _hello),
    bind(daemon.CONFIGURATION, _configuration),
    bind(daemon.CONFIGURE, lambda c, p: c.service.configure(p.orchestration_enabled)),
    bind(daemon.PING, _ping),
    bind(daemon.RELOAD, _reload),
    bind(daemon.SHUTDOWN, _shutdown),
    bind(daemon.STATUS, _status),
    bind(events.SUBSCRIBE, _events_subscribe),
    bind(gateway.DEVICES, _gateway_devices),
    bind(gateway.PAIR, _gateway_pair),
    bind(gateway.REVOKE, _gateway_revoke),
    bind(gateway.SCOPE, _gateway_scope),
    bind(daemon.TOOL_MESSAGE, _tool_message),
    bind(
        questions.ANSWER,
        lambda c, p: c.service.answer(p.question_id, p.answer, p.note, c.caller),
    ),
    bind(questions.LIST, lambda c, _: c.service.questions()),
    bind(
        recipes.CHECK,
        lambda c, p: c.service.recipe_tools.check(p.path, p.text, p.id, p.working_directory),
    ),
    bind(recipes.GET, lambda c, p: c.service.recipes.get(p.id, p.working_directory)),
    bind(
        recipes.GRAPH,
        lambda c, p: c.service.recipe_tools.graph(p.id, p.format, p.working_directory),
    ),
    bind(recipes.LIST, lambda c, p: c.service.recipes.list(p.working_directory)),
    bind(
        recipes.OUTCOME,
        lambda c, p: c.service.recipes.outcome(p.id, p.step, p.text, p.working_directory),
    ),
    bind(recipes.PATHS, lambda c, p: c.service.recipe_tools.paths(p.id, p.working_directory)),
    bind(
        recipes.REHEARSE,
        lambda c, p: c.service.recipe_tools.rehearse(p.id, p.step, p.replies, p.working_directory),
    ),
    bind(
        recipes.SIMULATE,
        lambda c, p: c.service.recipe_tools.simulate(p.id, p.outcomes, p.working_directory),
    ),
    bind(recipes.TRUST, lambda c, p: c.service.recipes.trust(p.working_directory, p.digests)),
    bind(daemon.DISCOVER, _discover),
    bind(runs.CANCEL, lambda c, p: c.service.cancel(p.run_id)),
    bind(runs.DIFF, lambda c, p: c.service.run_diff(p.run_id, p.patch)),
    bind(runs.EVENTS, _runs_events),
    bind(runs.GET, lambda c, p: c.service.whole_run(p.run_id)),
    bind(runs.HISTORY, lambda c, p: c.service.run_history(p.run_id, p.after)),
    bind(runs.INTERRUPT, lambda c, p: c.service.interrupt(p.run_id)),
    bind(runs.LIST, lambda c, p: c.service.list_runs(p.active, p.limit, p.before)),
    bind(runs.PAUSE, lambda c, p: c.service.pause(p.run_id)),
    bind(runs.RENAME, lambda c, p: c.service.rename(p.run_id, p.title)),
    bind(runs.RESUME, lambda c, p: c.service.resume(p.run_id)),
    bind(runs.START, _runs_start),
    bind(runs.STEER, _runs_steer),
    bind(sessions.COMPACT, _sessions_compact),
    bind(sessions.FORGET, _sessions_forget),
    bind(sessions.GET, lambda c, p: c.service.sessions_get(p.session_id)),
    bind(sessions.INTERRUPT, _sessions_interrupt),
    bind(
        sessions.LIST, lambda c, p: c.service.sessions_list(p.working_directory, p.limit, p.before)
    ),
    bind(sessions.LOCKS, lambda c, _: c.service.locks()),
    bind(
        sessions.MESSAGES,
        lambda c, p: c.service.sessions_messages(p.session_id, p.after_seq, p.limit),
    ),
    bind(sessions.PROMPT, _sessions_prompt),
    bind(sessions.SUBSCRIBE, _sessions_subscribe),
    bind(sessions.UNSUBSCRIBE, _sessions_unsubscribe),
    bind(
        daemon.PRUNE,
        lambda c, p: c.service.storage.prune(p.what, dry_run=p.dry_run, vacuum=p.vacuum),
    ),
    bind(daemon.USAGE, lambda c, _: c.service.storage.usage()),
    *voice_methods.VOICE_METHODS,
    bind(runs.WORKTREES, lambda c, _: c.service.worktrees.list()),
    bind(runs.MERGE_WORKTREE, lambda c, p: c.service.worktrees.merge(p.run_id)),
    bind(runs.REMOVE_WORKTREE, lambda c, p: c.service.worktrees.remove(p.run_id, force=p.force)),
)
