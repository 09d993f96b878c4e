"""A phone's messages about recipes."""

from __future__ import annotations

from podiumd.core.run import facts as f
from podiumd.gateway.fields import check_size
from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.feed.known_sessions import known
from podiumd.gateway.phone.feed.recipe_board import NONE_RAN, standing
from podiumd.gateway.phone.feed.recipe_board import started as started_message
from podiumd.gateway.phone.protocol import outgoing, outgoing_recipes, requests
from podiumd.gateway.phone.services import Services
from podiumd.runtime.api import StartRun
from podiumd.runtime.errors import (
    AlreadyEnded,
    NotFound,
    OrchestrationDisabled,
    PodiumError,
)

STEER_SECONDS = 1.0
"""How long an agent may take to say that it has words; the phone's other messages wait."""


async def get_available_recipes(
    phone: Phone, services: Services, message: requests.GetAvailableRecipes
) -> None:
    listed = await services.service.recipes.list(message.working_directory)
    phone.send(outgoing_recipes.available_recipes(listed, phone.budget))


async def start_recipe(phone: Phone, services: Services, message: requests.StartRecipe) -> None:
    """Start a recipe in a session that is there, or in a new one."""
    service, session_id = services.service, message.session_id
    try:
        new = not await known(service, session_id)
        directory = message.working_directory or phone.directory
        if not new and session_id is not None:
            directory = (await service.sessions_get(session_id)).working_directory
        if directory is None:
            words_ = "A new session needs a working_directory."
            _refuse(phone, session_id, words_)
            return
        run = await service.start_run(
            StartRun(
                recipe=message.recipe_id,
                working_directory=services.workshop.at_home(directory),
                session_id=None if new else session_id,
                new_session_id=session_id if new else None,
                agent=message.provider,
            )
        )
    except OrchestrationDisabled:
        _refuse(phone, session_id, outgoing_recipes.SWITCHED_OFF)
        return
    except PodiumError as refusal:
        missing = isinstance(refusal, NotFound) and refusal.data.kind == "recipe"
        said = outgoing_recipes.NOT_FOUND if missing else refusal.message
        _refuse(phone, session_id, said)
        return
    begun, _ = await service.run_events(run.run_id, 0, 1)
    if (await service.get_run(run.run_id)).status == "ended":
        return  # its start and its end are sent to every phone, in their order
    started = begun[0].fact
    assert isinstance(started, f.RunStarted)
    shown = services.news.board.of_run(run.run_id) or standing(run, started)
    phone.send(started_message(shown, message.ios_session_id, run.status))
    phone.send(outgoing.ack(f"Recipe '{shown.label}' started"))


def _refuse(phone: Phone, session_id: str | None, words_: str) -> None:
    for payload in outgoing_recipes.recipe_error(session_id, words_):
        phone.send(payload)


async def exit_recipe(phone: Phone, services: Services, message: requests.ExitRecipe) -> None:
    """End the recipe; its end is reported when its agent is gone and the session free."""
    session_id = message.session_id
    if services.news.waits(session_id):
        return  # it has ended, and every phone gets that in a moment
    run_id = await _run_in(services, session_id)
    if run_id is None:
        phone.send(outgoing_recipes.recipe_exited(session_id, NONE_RAN))
        return

    async def cancel() -> None:
        try:
            await services.service.cancel(run_id)
        except AlreadyEnded:
            pass  # it has just come to its own end, and every phone gets that

    phone.stop(f"recipe {run_id}", cancel)


async def pause_recipe(phone: Phone, services: Services, message: requests.PauseRecipe) -> None:
    await services.service.pause(await _running(services, message.session_id))


async def resume_recipe(phone: Phone, services: Services, message: requests.ResumeRecipe) -> None:
    await services.service.resume(await _running(services, message.session_id))


async def steer(phone: Phone, services: Services, message: requests.Steer) -> None:
    check_size(message.text)
    run_id = await _running(services, message.session_id)
    went = await services.service.steer(run_id, message.text, STEER_SECONDS)
    phone.send(outgoing_recipes.steer_result(message.session_id, went.state))


async def set_orchestration(
    phone: Phone, services: Services, message: requests.SetOrchestration
) -> None:
    await services.service.configure(message.enabled)
    listed = await services.service.recipes.list(None)
    services.each(lambda one: outgoing_recipes.available_recipes(listed, one.budget))


async def _run_in(services: Services, session_id: str) -> str | None:
    """Return the recipe that runs in a session; the board may not know it yet."""
    shown = services.news.board.of_session(session_id)
    if shown is not None:
        return shown.run_id
    for run in await services.service.list_runs(active=True, limit=1000):
        if run.main_session_id == session_id and run.status != "ended":
            return str(run.run_id)
    return None


async def _running(services: Services, session_id: str) -> str:
    run_id = await _run_in(services, session_id)
    if run_id is None:
        refusal = NotFound("recipe", session_id, f"No recipe runs in session {session_id}.")
        refusal.data.session_id = session_id
        raise refusal
    return run_id
