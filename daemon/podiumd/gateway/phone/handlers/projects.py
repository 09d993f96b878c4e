"""A phone's messages about commands and files. What is refused there is a ``ProjectError``."""

from __future__ import annotations

from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.protocol import outgoing_tools, requests
from podiumd.gateway.phone.services import Services
from podiumd.projects.errors import ProjectError


async def execute_command(
    phone: Phone, services: Services, message: requests.ExecuteCommand
) -> None:
    directory = message.working_directory or phone.directory or services.workshop.home
    try:
        record = await services.workshop.commands.start(directory, message.command_id)
    except ProjectError as refusal:
        phone.send(outgoing_tools.command_error(message.command_id, str(refusal)))
        return
    # Nothing is awaited in between, so no line of it is sent before this.
    services.commands_of[record.command_session_id] = phone.device
    phone.send(
        outgoing_tools.command_started(
            record.command_session_id, record.command_id, record.shell_command
        )
    )


async def get_command_history(
    phone: Phone, services: Services, message: requests.GetCommandHistory
) -> None:
    records = services.workshop.commands.history(message.working_directory, message.limit)
    phone.send(outgoing_tools.command_history(records, message.limit, phone.budget))


async def get_command_output(
    phone: Phone, services: Services, message: requests.GetCommandOutput
) -> None:
    record, output = await services.workshop.commands.output(message.command_session_id)
    phone.send(outgoing_tools.command_output_full(record, output, phone.budget))


async def upload_file(phone: Phone, services: Services, message: requests.UploadFile) -> None:
    try:
        stored = await services.workshop.resources.put_base64(
            message.storage_location, message.filename, message.content
        )
    except ProjectError as refusal:
        phone.send(outgoing_tools.upload_error(str(refusal)))
        return
    phone.send(outgoing_tools.file_uploaded(stored))


async def list_resources(phone: Phone, services: Services, message: requests.ListResources) -> None:
    files = await services.workshop.resources.list(message.storage_location)
    phone.send(outgoing_tools.resources_list(files, message.storage_location, phone.budget))


async def delete_resource(
    phone: Phone, services: Services, message: requests.DeleteResource
) -> None:
    gone = await services.workshop.resources.delete(message.storage_location, message.name)
    phone.send(outgoing_tools.resource_deleted(gone.filename, gone.path))
