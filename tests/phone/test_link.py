"""The WebSocket of a phone, without a socket."""

import pytest
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from tests.phone_app.link import Link, websocket_url


def joined(headers: tuple[tuple[str, str], ...] = ()) -> tuple[Link, ServerProtocol]:
    """A link and a server that shook hands."""
    link, server = Link("ws://127.0.0.1:8080/ws", headers), ServerProtocol()
    server.receive_data(b"".join(link.output()))
    (request,) = server.events_received()
    assert isinstance(request, Request)
    server.send_response(server.accept(request))
    assert link.received(b"".join(server.data_to_send())) == []
    return link, server


def frame(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=False)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("127.0.0.1:8080", "ws://127.0.0.1:8080"),
        ("http://phone.local:80", "ws://phone.local:80"),
        ("https://a.ts.net", "wss://a.ts.net"),
        ("wss://a/any/path", "wss://a/any/path"),
    ],
)
def test_an_address_may_be_written_as_people_do(given: str, address: str) -> None:
    assert websocket_url(given) == address


@pytest.mark.parametrize("given", ["ftp://a", "ws://", "", "/"])
def test_what_is_no_address_is_named(given: str) -> None:
    with pytest.raises(ValueError, match="is no address of a gateway"):
        websocket_url(given)


def test_messages_go_both_ways() -> None:
    link, server = joined()
    link.send('{"type":"ping"}')
    link.send_binary(b"\x00voice")
    server.receive_data(b"".join(link.output()))
    server.send_text(b'{"type":"pong"}')
    server.send_binary(b"{}")

    assert [bytes(one.data) for one in server.events_received() if isinstance(one, Frame)] == [
        b'{"type":"ping"}',
        b"\x00voice",
    ]
    assert link.received(b"".join(server.data_to_send())) == ['{"type":"pong"}', b"{}"]


def test_a_message_in_pieces_with_a_ping_between_is_one() -> None:
    link, _ = joined()
    data = b"".join(
        [
            frame(Opcode.TEXT, "gr\u00fc".encode()[:3], fin=False),
            frame(Opcode.PING, b"still there?"),
            frame(Opcode.CONT, "gr\u00fc".encode()[3:] + b"n", fin=False),
            frame(Opcode.CONT, b""),
        ]
    )
    found = [one for at in range(len(data)) for one in link.received(data[at : at + 1])]

    assert found == ["gr\u00fcn"]
    assert b"".join(link.output()) != b""  # the pong


def test_text_that_is_no_utf_8_is_handed_on_as_it_is() -> None:
    link, _ = joined()

    assert link.received(frame(Opcode.TEXT, b"\xff")) == [b"\xff"]


def test_a_breach_of_the_standard_is_named() -> None:
    link, _ = joined()
    assert link.violation == ""
    link.received(frame(Opcode.CONT, b"of what?"))

    assert link.violation == "unexpected continuation frame"


def test_a_connection_that_only_breaks_off_is_no_breach() -> None:
    link, _ = joined()
    link.received(frame(Opcode.TEXT, b"half of it")[:5])
    link.ended()

    assert link.violation == ""
    assert link.close_code == 1006


def test_the_close_of_the_server_is_told_and_answered() -> None:
    link, server = joined()
    server.send_close(1008, "revoked")
    link.received(b"".join(server.data_to_send()))

    assert (link.close_code, link.close_reason) == (1008, "revoked")
    assert not link.is_open
    server.receive_data(b"".join(link.output()))
    assert server.state in (State.CLOSING, State.CLOSED)
    link.send("too late")
    link.send_binary(b"too late")
    link.ping()
    link.close()
    assert link.output() == []


def test_it_can_ping_and_close() -> None:
    link, server = joined()
    link.ping()
    link.close()
    server.receive_data(b"".join(link.output()))

    opcodes = [one.opcode for one in server.events_received() if isinstance(one, Frame)]
    assert opcodes == [Opcode.PING, Opcode.CLOSE]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "answered 403 Forbidden"),
        (b"HTTP/1.1 429 Too Many\r\n\r\nlater", "answered 429 Too Many"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "header"),
        (b"SSH-2.0-OpenSSH\r\n", "valid HTTP response"),
        (b"", "closed the connection before it answered"),
    ],
)
def test_a_server_that_opens_no_websocket_is_told_why(answer: bytes, words: str) -> None:
    link = Link("127.0.0.1:1")
    link.output()
    if answer:
        link.received(answer)
    link.ended()

    assert words in link.refusal


def test_headers_replace_those_of_the_same_name() -> None:
    link = Link("127.0.0.1:1", (("Host", "evil.example"), ("Origin", "http://evil.example")))
    request = b"".join(link.output())

    assert request.count(b"Host: ") == 1
    assert b"Host: evil.example\r\n" in request
    assert b"Origin: http://evil.example\r\n" in request
