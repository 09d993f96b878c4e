"""One table of what each door bounds: at the bound it is taken, one beyond it is refused with its
sentence, and the daemon goes on."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
import trio

from podiumd.gateway import fields
from podiumd.gateway.access import devices
from podiumd.gateway.agui import incoming, route
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.phone.connection import UPLOAD_BYTES
from podiumd.gateway.routes import prompt
from podiumd.projects import resources
from podiumd.rpc.limits import RpcLimits
from podiumd.rpc.params import LONGEST_AGENT_LINE
from podiumd.runtime.service import ANSWER_BYTES
from tests.doors.house import House, Phone
from tests.e2e.rpc_client import Refused
from tests.gateway.harness import Peer
from tests.patience import HANG_SECONDS

Json = dict[str, Any]
Push = Callable[[House, int], Awaitable[str]]
"""Bring so much through a door; the words of the refusal, empty where it was taken."""

RPC = RpcLimits()
GATEWAY = GatewayLimits()
PING: Json = {"jsonrpc": "2.0", "id": 1, "method": "daemon.ping"}
ASKS = """
initial = "go"

[steps.go]
gate = "Go on?"
prompt = "Hello."
allow = []

[steps.go.on]
complete = { exit = "done", class = "completed" }
"""
QUEUE = "[limits]\nmax_agents = 1\nmax_queued = 1\n"


@dataclass(frozen=True)
class Limit:
    """A bound of a door; ``first`` prepares the house for it."""

    name: str
    most: int
    push: Push
    sentence: str
    first: Callable[[House], Awaitable[None]] | None = None

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def begun(house: House, **more: Any) -> Json:
    """What begins a prompt of the scripted agent, over the socket and over HTTP."""
    return {"text": "Hi", "agent": "scripted", "working_directory": str(house.project), **more}


# -- the socket ------------------------------------------------------------------------------


async def asked(house: House, *lines: bytes, answers: int = 1) -> list[Any]:
    """Say lines over a connection of its own; the first answers."""
    stream = await trio.open_unix_socket(str(house.podium.machine.socket))
    house.streams.append(stream)  # what waits is not given up
    with trio.fail_after(HANG_SECONDS):
        with suppress(trio.BrokenResourceError):  # what was said before it hung up is there
            await stream.send_all(b"".join(line + b"\n" for line in lines))
        received = b""
        while received.count(b"\n") < answers:
            chunk = await stream.receive_some(1 << 20)
            assert chunk, received
            received += chunk
    return [json.loads(line) for line in received.splitlines()[:answers]]


def refused_in(answer: Any) -> str:
    return str(answer["error"]["message"]) if "error" in answer else ""


async def call(house: House, method: str, **params: Any) -> str:
    try:
        await house.podium.rpc(method, **params)
    except Refused as refusal:
        return refusal.message
    return ""


async def socket_line(house: House, size: int) -> str:
    line = json.dumps(PING).encode()
    return refused_in((await asked(house, line.ljust(size)))[0])


async def socket_text(house: House, size: int) -> str:
    return await call(house, "sessions.prompt", **begun(house, text="x" * (size - 512 - 2)))


async def socket_batch(house: House, entries: int) -> str:
    (answer,) = await asked(house, json.dumps([PING] * entries).encode())
    return "" if isinstance(answer, list) else refused_in(answer)


async def socket_requests(house: House, requests: int) -> str:
    """All wait for turns that do not end; a ping that is answered shows that they were taken."""
    method = {"method": "sessions.prompt", "params": begun(house, text="Hang on", wait=True)}
    lines = [json.dumps({**PING, "id": n, **method}).encode() for n in range(requests)]
    taken = requests <= RPC.requests
    said = [*lines, json.dumps({**PING, "id": "ping"}).encode()] if taken else lines
    (answer,) = await asked(house, *said)
    assert answer["id"] == ("ping" if taken else requests - 1)
    return "" if taken else refused_in(answer)


async def socket_feeds(house: House, feeds: int) -> str:
    line = json.dumps({**PING, "method": "events.subscribe"}).encode()
    return refused_in((await asked(house, *[line] * feeds, answers=feeds))[-1])


async def socket_page(house: House, rows: int) -> str:
    return await call(house, "runs.list", limit=rows)


async def socket_devices(house: House, number: int) -> str:
    said = ""
    for n in range(len(await house.podium.rpc("gateway.devices")), number):
        said = await call(house, "gateway.pair", name=f"device {n}")
    return said


async def socket_answer(house: House, size: int) -> str:
    question_id = (await opened(house, size))["id"]
    return await call(house, "questions.answer", question_id=question_id, **answered(size))


async def socket_queue(house: House, waiting: int) -> str:
    return await call(house, "sessions.prompt", **begun(house))


# -- HTTP ------------------------------------------------------------------------------------


async def post(house: House, path: str, value: Json, size: int = 0) -> str:
    """Send JSON, filled up to a size."""
    body = json.dumps(value).encode().ljust(size)
    answer = await house.mine.ask("POST", path, body, content_type="application/json")
    return "" if answer.status < 300 else str(answer.problem(answer.status)["detail"])


async def http_head(house: House, size: int) -> str:
    head = (
        f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {house.key}\r\n"
        "Connection: close\r\nX: "
    )
    return await raw(house, head.encode().ljust(size - 4, b"x") + b"\r\n\r\n")


async def http_fields(house: House, number: int) -> str:
    answer = await house.mine.get("/metrics?" + "&".join(f"x{n}=1" for n in range(number)))
    return "" if answer.status == 200 else str(answer.problem(400)["detail"])


async def http_body(house: House, size: int) -> str:
    return await post(house, "/v1/prompt", begun(house, wait=False), size)


async def http_text(house: House, size: int) -> str:
    return await post(house, "/v1/prompt", begun(house, text="x" * size, wait=False))


async def http_wait(house: House, seconds: int) -> str:
    return await post(house, "/v1/prompt", begun(house, wait=seconds))


async def http_upload(house: House, size: int) -> str:
    content = base64.b64encode(b"x" * size).decode()
    sent = {"filename": "a", "content": content, "storage_location": str(house.project)}
    return await post(house, "/upload", sent)


async def http_queue(house: House, waiting: int) -> str:
    return await post(house, "/v1/prompt", begun(house, wait=False))


async def raw(house: House, request: bytes) -> str:
    """Send a request as it stands; its stream stays open where it is answered by one."""
    stream = await trio.open_tcp_stream("127.0.0.1", house.port)
    house.streams.append(stream)
    received = b""
    with trio.fail_after(HANG_SECONDS):
        with suppress(trio.BrokenResourceError):  # it has answered without all of the body
            await stream.send_all(request)
        while b"RUN_STARTED" not in received and (chunk := await stream.receive_some(65_536)):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    return "" if head.split()[1] == b"200" else str(json.loads(body)["detail"])


# -- AG-UI -----------------------------------------------------------------------------------


def run_input(house: House, text: str | None = "Hi", **more: Any) -> Json:
    words = [] if text is None else [{"id": "m1", "role": "user", "content": text}]
    place = {"agent": "scripted", "working_directory": str(house.project)}
    return {"threadId": "t", "runId": "r", "messages": words, "forwardedProps": place, **more}


async def agui(house: House, value: Json, size: int = 0) -> str:
    body = json.dumps(value).encode().ljust(size)
    head = (
        f"POST /agui HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {house.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return await raw(house, head.encode() + body)


async def agui_body(house: House, size: int) -> str:
    return await agui(house, run_input(house), size)


async def agui_text(house: House, size: int) -> str:
    return await agui(house, run_input(house, "x" * size, threadId=f"t{size}"))


async def agui_thread(house: House, characters: int) -> str:
    return await agui(house, run_input(house, threadId="t" * characters))


async def agui_resumed(house: House, answers: int) -> str:
    closed = [{"interruptId": f"q-{n}", "status": "cancelled"} for n in range(answers)]
    return await agui(house, run_input(house, resume=closed))


async def opened(house: House, number: int) -> Json:
    """Begin a run that asks; the question, as AG-UI has it."""
    house.podium.machine.recipe("asks", ASKS)
    place = {"recipe": "asks", "agent": "scripted", "working_directory": str(house.project)}
    asks = run_input(house, None, threadId=f"t{number}", forwardedProps=place)
    answer = await house.mine.post("/agui", asks)
    (question,) = json.loads(answer.body.split(b"data: ")[-1])["outcome"]["interrupts"]
    found: Json = question
    return found


def answered(size: int) -> Json:
    return {"answer": "no", "note": "x" * (size - len("no"))}


async def agui_answer(house: House, size: int) -> str:
    interrupt_id = (await opened(house, size))["id"]
    closed = {"interruptId": interrupt_id, "status": "resolved", "payload": answered(size)}
    return await agui(house, run_input(house, None, threadId=f"t{size}", resume=[closed]))


async def agui_streams(house: House, streams: int) -> str:
    said = ""
    for n in range(streams - len(house.streams)):
        said = await agui(house, run_input(house, "Hang on" if n == 0 else None, runId=f"r{n}"))
    return said


async def agui_queue(house: House, waiting: int) -> str:
    return await agui(house, run_input(house, threadId=f"t{waiting}"))


# -- phones ----------------------------------------------------------------------------------


async def phone_message(house: House, size: int) -> str:
    return await pinged((await house.connected()).peer, size, UPLOAD_BYTES)


async def stranger_message(house: House, size: int) -> str:
    phone = await house.dial()
    await phone.until("hello")
    return await pinged(phone.peer, size, GATEWAY.stranger_message_bytes)


async def pinged(peer: Peer, size: int, most: int) -> str:
    """Send a message that is answered at once, filled up to a size; one that is too large is
    refused by its header."""
    peer.protocol.send_text(json.dumps({"type": "ping"}).ljust(size).encode())
    data = b"".join(peer.protocol.data_to_send())
    with trio.fail_after(HANG_SECONDS):
        await peer.stream.send_all(data if size <= most else data[:1024])
        try:
            while json.loads(await peer.message())["type"] != "pong":
                pass
        except EOFError:
            assert peer.protocol.close_code == 1009
            return str(peer.protocol.close_reason)
    await peer.stream.aclose()
    return ""


async def phone_text(house: House, size: int) -> str:
    return await phone_prompt(house, "x" * size)


async def phone_answer(house: House, size: int) -> str:
    question_id = (await opened(house, size))["id"]
    phone = await house.connected()
    await phone.say("answer_question", question_id=question_id, **answered(size))
    return await taken(phone, "question_closed")


async def phone_queue(house: House, waiting: int) -> str:
    return await phone_prompt(house, "Hi")


async def phone_prompt(house: House, text: str) -> str:
    phone = await house.connected()
    await phone.say("prompt", text=text, working_directory=str(house.project), provider="scripted")
    return await taken(phone, "ack")


async def taken(phone: Phone, by: str) -> str:
    """Read on to what says that a message was taken, or refused."""
    with trio.fail_after(HANG_SECONDS):
        while (message := json.loads(await phone.peer.message()))["type"] not in (by, "error"):
            pass
    await phone.hang_up()
    return str(message["message"]) if message["type"] == "error" else ""


# -- the table -------------------------------------------------------------------------------


async def full(house: House) -> None:
    """Have an agent at work, where one may be and one may wait for it."""
    config = house.podium.machine.podium_home / "config.toml"
    config.write_text(config.read_text() + QUEUE)
    await house.podium.rpc("daemon.reload")
    await house.podium.rpc("sessions.prompt", **begun(house, text="Hang on"))


TEXT = r"The text has \d+ bytes, and \d+ may go to an agent: attach a file\."
ANSWER = rf"An answer and its note may be {ANSWER_BYTES} bytes long; attach a file\."
WAITING = r"^As many prompts and recipes wait as may \(1: limits\.max_queued\)"
LIMITS = (
    Limit("socket line", RPC.line_bytes, socket_line, r"a line is longer than 16777216 bytes"),
    Limit("socket text", LONGEST_AGENT_LINE, socket_text, r"'text' is \d+ bytes long as the agent"),
    Limit("socket batch", RPC.batch_entries, socket_batch, r"a batch of 1001 entries; at most"),
    Limit("socket requests", RPC.requests, socket_requests, r"too many requests in hand"),
    Limit("socket feeds", RPC.feeds, socket_feeds, r"too many feeds"),
    Limit("socket page", 1000, socket_page, r"'limit': expected an integer from 1 to 1000"),
    Limit("socket devices", devices.MOST_DEVICES, socket_devices, r"100 devices are paired"),
    Limit("socket answer", ANSWER_BYTES, socket_answer, ANSWER),
    Limit("socket queue", 1, socket_queue, WAITING, full),
    Limit("http head", GATEWAY.head_bytes, http_head, r"head is larger than 16384 bytes"),
    Limit("http fields", 100, http_fields, r"has too many fields"),
    Limit("http body", prompt.BODY_BYTES, http_body, r"8388608"),
    Limit("http text", fields.MOST_BYTES, http_text, TEXT),
    Limit("http wait", 3600, http_wait, r"from 0 to 3600"),
    Limit("http upload", resources.MOST_BYTES, http_upload, r"larger than 100 MB"),
    Limit("http queue", 1, http_queue, WAITING, full),
    Limit("agui body", route.BODY_BYTES, agui_body, r"16777216"),
    Limit("agui text", fields.MOST_BYTES, agui_text, TEXT),
    Limit("agui thread", 256, agui_thread, r"'threadId'"),
    Limit("agui resumed", incoming.MOST_RESUMED, agui_resumed, r"'resume': .* at most 100"),
    Limit("agui streams", route.MOST_STREAMS, agui_streams, r"There are 50 streams already"),
    Limit("agui answer", ANSWER_BYTES, agui_answer, ANSWER),
    Limit("agui queue", 1, agui_queue, WAITING, full),
    Limit("stranger", GATEWAY.stranger_message_bytes, stranger_message, r"may have 16384 bytes"),
    Limit("phone message", UPLOAD_BYTES, phone_message, rf"may have {UPLOAD_BYTES} bytes"),
    Limit("phone text", fields.MOST_BYTES, phone_text, TEXT),
    Limit("phone answer", ANSWER_BYTES, phone_answer, ANSWER),
    Limit("phone queue", 1, phone_queue, WAITING, full),
)  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS, ids=str)
async def test_a_limit_is_taken_and_one_beyond_it_refused(house: House, limit: Limit) -> None:
    if limit.first is not None:
        await limit.first(house)
    assert await limit.push(house, limit.most) == ""
    assert re.search(limit.sentence, await limit.push(house, limit.most + 1))
    assert await house.podium.rpc("daemon.ping") == {"pong": True}
    assert (await house.mine.get("/metrics")).status == 200
    assert (await house.connected()).heard
