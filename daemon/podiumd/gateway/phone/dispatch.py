"""Which message of a phone is handled where."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from podiumd.gateway.phone import (
    project_handlers,
    prompt_handlers,
    recipe_handlers,
    requests,
    session_handlers,
    voice_handlers,
)

if TYPE_CHECKING:
    from podiumd.gateway.phone.connection import Phone

HANDLERS: Final[dict[type, Callable[[Phone, Any], Awaitable[None]]]] = {
    requests.Ping: session_handlers.ping,
    requests.Connect: session_handlers.connect,
    requests.RefreshSessions: session_handlers.refresh_sessions,
    requests.SetMaxMessageSize: session_handlers.set_max_message_size,
    requests.MessageAck: session_handlers.message_ack,
    requests.Subscribe: session_handlers.subscribe,
    requests.Unsubscribe: session_handlers.unsubscribe,
    requests.SessionDeleted: session_handlers.session_deleted,
    requests.CompactSession: session_handlers.compact_session,
    requests.KillSession: session_handlers.kill_session,
    requests.InferSessionName: session_handlers.infer_session_name,
    requests.CreateWorktreeSession: session_handlers.create_worktree_session,
    requests.SetDirectory: session_handlers.set_directory,
    requests.Prompt: prompt_handlers.prompt,
    requests.AnswerQuestion: prompt_handlers.answer_question,
    requests.GetAvailableRecipes: recipe_handlers.get_available_recipes,
    requests.StartRecipe: recipe_handlers.start_recipe,
    requests.ExitRecipe: recipe_handlers.exit_recipe,
    requests.PauseRecipe: recipe_handlers.pause_recipe,
    requests.ResumeRecipe: recipe_handlers.resume_recipe,
    requests.Steer: recipe_handlers.steer,
    requests.SetOrchestration: recipe_handlers.set_orchestration,
    requests.ExecuteCommand: project_handlers.execute_command,
    requests.GetCommandHistory: project_handlers.get_command_history,
    requests.GetCommandOutput: project_handlers.get_command_output,
    requests.UploadFile: project_handlers.upload_file,
    requests.ListResources: project_handlers.list_resources,
    requests.DeleteResource: project_handlers.delete_resource,
    requests.VoiceStart: voice_handlers.voice_start,
    requests.VoiceEnd: voice_handlers.voice_end,
    requests.VoiceCancel: voice_handlers.voice_cancel,
    requests.VoiceFrame: voice_handlers.voice_frame,
}


async def handle(phone: Phone, message: requests.Request) -> None:
    """Do what a phone asks for."""
    await HANDLERS[type(message)](phone, message)
