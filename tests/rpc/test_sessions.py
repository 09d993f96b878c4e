"""Sessions over the socket: what is asked of the service, and feeds that are ended by name."""

from __future__ import annotations

from pathlib import Path

from podiumd.core.run import facts as f
from tests.rpc.harness import served, wait_until


async def test_every_method_hands_its_parameters_on_with_their_defaults(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.result("sessions.list")
        await client.result("sessions.list", working_directory="/x", limit=5, before="2026-01-01Z")
        assert await client.result("sessions.get", session_id="s") == {"session_id": "s"}
        await client.result("sessions.messages", session_id="s")
        await client.result("sessions.messages", session_id="s", after_seq=7, limit=9)
        assert await client.result("sessions.forget", session_id="s") == {}
        assert daemon.service.calls == [
            ("sessions_list", (None, 50, None)),
            ("sessions_list", ("/x", 5, "2026-01-01Z")),
            ("sessions_get", "s"),
            ("sessions_messages", ("s", None, 100)),
            ("sessions_messages", ("s", 7, 9)),
            ("sessions_forget", "s"),
        ]


async def test_a_subscription_is_answered_by_a_page_and_followed_by_notifications(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        daemon.service.publish(f.StepEntered)
        page = await client.result("sessions.subscribe", session_id="s", after_seq=1)
        assert page == {"messages": [], "next_seq": 1}
        daemon.service.publish(f.StepEntered)
        message = await client.message()
        assert (message["method"], message["params"]["seq"]) == ("session.messages", 2)


async def test_unsubscribing_ends_that_session_and_no_other(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.result("sessions.subscribe", session_id="one")
        await client.result("sessions.subscribe", session_id="two")
        assert await client.result("sessions.unsubscribe", session_id="one") == {}
        await wait_until(lambda: daemon.service.open_feeds == 1)
        daemon.service.publish(f.StepEntered)
        assert (await client.message())["method"] == "session.messages"
        assert await client.result("sessions.unsubscribe", session_id="two") == {}
        await wait_until(lambda: daemon.service.open_feeds == 0)
        assert await client.result("sessions.unsubscribe", session_id="two") == {}


async def test_subscribing_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        for _ in range(3):
            await client.result("sessions.subscribe", session_id="s")
        await wait_until(lambda: daemon.service.open_feeds == 1)


async def test_summing_up_answers_when_it_is_over_and_holds_nobody_up(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client, daemon.client() as other:
        await client.send(
            b'{"jsonrpc":"2.0","id":5,"method":"sessions.compact","params":{"session_id":"s"}}\n'
        )
        assert await client.result("daemon.ping") == {"pong": True}
        assert await other.result("daemon.ping") == {"pong": True}
        daemon.service.gate.set()
        assert (await client.message())["id"] == 5
