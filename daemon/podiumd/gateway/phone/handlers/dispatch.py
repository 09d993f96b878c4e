"""Table of phone messages and their handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.handlers import projects, prompts, recipes, sessions, voice
from podiumd.gateway.phone.protocol import requests
from podiumd.gateway.phone.services import Services

HANDLERS: Final[dict[type, Callable[[Phone, Services, Any], Awaitable[None]]]] = {
    requests.Ping: sessions.ping,
    requests.Connect: sessions.connect,
    requests.RefreshSessions: sessions.refresh_sessions,
    requests.SetMaxMessageSize: sessions.set_max_message_size,
    requests.MessageAck: sessions.message_ack,
    requests.Subscribe: sessions.subscribe,
    requests.Unsubscribe: sessions.unsubscribe,
    requests.SessionDeleted: sessions.session_deleted,
    requests.CompactSession: sessions.compact_session,
    requests.KillSession: sessions.kill_session,
    requests.InferSessionName: sessions.infer_session_name,
    requests.CreateWorktreeSession: sessions.create_worktree_session,
    requests.SetDirectory: sessions.set_directory,
    requests.Prompt: prompts.prompt,
    requests.AnswerQuestion: prompts.answer_question,
    requests.GetAvailableRecipes: recipes.get_available_recipes,
    requests.StartRecipe: recipes.start_recipe,
    requests.ExitRecipe: recipes.exit_recipe,
    requests.PauseRecipe: recipes.pause_recipe,
    requests.ResumeRecipe: recipes.resume_recipe,
    requests.Steer: recipes.steer,
    requests.SetOrchestration: recipes.set_orchestration,
    requests.ExecuteCommand: projects.execute_command,
    requests.GetCommandHistory: projects.get_command_history,
    requests.GetCommandOutput: projects.get_command_output,
    requests.UploadFile: projects.upload_file,
    requests.ListResources: projects.list_resources,
    requests.DeleteResource: projects.delete_resource,
    requests.VoiceStart: voice.voice_start,
    requests.VoiceEnd: voice.voice_end,
    requests.VoiceCancel: voice.voice_cancel,
    requests.VoiceFrame: voice.voice_frame,
}


async def handle(phone: Phone, services: Services, message: requests.Request) -> None:
    """Do what a phone asks for."""
    await HANDLERS[type(message)](phone, services, message)
