"""Each step of a turn reaches the agent once, whenever the daemon that writes it is killed."""

from __future__ import annotations

import random
from collections import Counter, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.drivers.dialect import Group
from podiumd.drivers.steps import MARK_METHOD, Steps
from podiumd.formats.jsonrpc_lines import Answer, Failure, Request, not_found, read, write

STEER = "steer:7"


def line(name: str) -> bytes:
    return write(Request(name, "do"), version=False)


def ids(groups: list[Group]) -> list[list[str]]:
    """The ids of the requests in each group."""
    return [
        [str(asked.id) for asked in map(read, group) if isinstance(asked, Request)]
        for group in groups
    ]


def mark(name: str) -> Answer:
    return Answer(f"m:{name}", error=Failure(-32601, "Method not found"))


def probe(number: int) -> Answer:
    return Answer(f"p:{number}", error=Failure(-32601, "Method not found"))


def steps_of(*planned: str) -> Steps:
    steps = Steps(version=False)
    steps.begin("init")
    for name in planned:
        steps.plan(name, line(name))
    return steps


# -- a turn of one daemon ----------------------------------------------------------------------


def test_a_step_goes_out_once_in_one_group_with_its_mark() -> None:
    steps = steps_of("open", "prompt")

    assert ids(steps.due()) == [["open", "m:open"], ["prompt", "m:prompt"]]
    assert steps.due() == []


def test_a_mark_is_a_request_of_a_method_that_no_agent_has() -> None:
    (group,) = steps_of("open").due()

    assert read(group[-1]) == Request("m:open", MARK_METHOD)


@pytest.mark.parametrize("version", [True, False])
def test_marks_are_written_as_the_agent_wants_them(version: bool) -> None:
    steps = Steps(version=version)
    steps.plan("open", line("open"))

    ((_, marked),) = steps.due()

    assert (b"jsonrpc" in marked) is version


def test_a_step_may_do_without_a_mark_and_have_several_lines() -> None:
    steps = Steps(version=False)
    steps.plan("init", line("init"), line("initialized"), marked=False)

    assert ids(steps.due()) == [["init", "initialized"]]


def test_an_answer_names_its_step_the_first_time_alone() -> None:
    steps = steps_of("open")
    steps.due()

    assert steps.feed(mark("open")) is None
    assert [steps.feed(Answer("open", {})) for _ in range(2)] == ["open", None]
    assert steps.feed(Answer("init", {})) == "init", "also of what was there from the beginning"


@pytest.mark.parametrize("id", ["other", 0, None, "m:other", "p:x"])
def test_an_answer_to_nothing_of_ours_changes_nothing(id: str | int | None) -> None:
    steps = steps_of("open")

    assert steps.feed(Answer(id, {})) is None
    assert ids(steps.due()) == [["open", "m:open"]]


@pytest.mark.parametrize("how", ["mark", "answer", "words"])
def test_what_shows_that_a_step_has_arrived(how: str) -> None:
    steps = steps_of("open")
    steps.due()
    assert not steps.has_arrived("open") and not steps.has_arrived("other")
    if how == "words":
        steps.confirm("open")
    else:
        steps.feed(mark("open") if how == "mark" else Answer("open", {}))

    assert steps.has_arrived("open")


# -- a turn that is taken up -------------------------------------------------------------------


def test_a_step_of_which_the_spool_tells_nothing_is_probed_and_written_if_it_never_was() -> None:
    steps = steps_of("open")
    steps.attached()

    assert steps.doubtful and ids(steps.due()) == [["p:0"]]
    assert steps.due() == [], "before the answer nothing goes out"
    steps.feed(probe(0))
    assert not steps.doubtful and ids(steps.due()) == [["open", "m:open"]]


def test_a_step_whose_mark_is_answered_before_the_probe_is_not_written_again() -> None:
    steps = steps_of("open")
    steps.attached()
    steps.due()
    steps.feed(mark("open"))
    steps.plan("prompt", line("prompt"))
    assert steps.due() == [], "nothing is written between a probe and its answer"
    steps.feed(probe(0))

    assert ids(steps.due()) == [["prompt", "m:prompt"]]


def test_what_the_spool_shows_needs_no_probe() -> None:
    steps = steps_of("open")
    steps.feed(mark("open"))
    steps.attached()

    assert steps.due() == [] and not steps.doubtful


def test_what_becomes_possible_after_taking_up_was_written_by_nobody() -> None:
    steps = steps_of("open")
    steps.feed(mark("open"))
    steps.attached()
    steps.plan("prompt", line("prompt"))

    assert ids(steps.due()) == [["prompt", "m:prompt"]]


def test_a_probe_that_an_earlier_daemon_asked_is_no_answer_to_ours() -> None:
    steps = steps_of("open")
    steps.feed(probe(0))
    steps.attached()

    assert ids(steps.due()) == [["p:1"]]
    steps.feed(probe(0))
    assert steps.due() == []
    steps.feed(probe(1))
    assert ids(steps.due()) == [["open", "m:open"]]


def test_a_probe_of_more_digits_than_any_of_ours_is_answered_to_no_one() -> None:
    steps = Steps(version=False)
    steps.plan("prompt", line("prompt"))
    steps.feed(Answer("p:" + "9" * 5000, error=Failure(-32601, "none")))
    steps.attached()
    assert ids(steps.due()) == [["p:0"]]


def test_words_that_may_have_been_written_wait_for_the_probe_and_go_once() -> None:
    steps = steps_of()
    steps.expect(STEER)
    steps.attached()
    assert ids(steps.due()) == [["p:0"]]
    steps.plan(STEER, line(STEER))
    assert steps.due() == []
    steps.feed(probe(0))

    assert ids(steps.due()) == [[STEER, f"m:{STEER}"]]


def test_words_that_have_arrived_are_not_written_when_they_are_planned_again() -> None:
    steps = steps_of()
    steps.expect(STEER)
    steps.feed(mark(STEER))
    steps.attached()
    steps.plan(STEER, line(STEER))

    assert steps.due() == [] and steps.has_arrived(STEER)


def test_words_that_never_came_are_due_only_once_they_are_known_again() -> None:
    steps = steps_of()
    steps.expect(STEER)
    steps.attached()
    steps.due()
    steps.feed(probe(0))

    assert steps.due() == []


# -- an agent that answers no marks ------------------------------------------------------------


def test_an_agent_that_reads_on_without_answering_a_mark_is_weak() -> None:
    steps = steps_of("open")
    steps.due()
    steps.feed(Answer("open", {}))
    assert not steps.weak, "the answer may have overtaken that to the mark"
    steps.plan("prompt", line("prompt"))
    steps.due()
    assert not steps.weak
    steps.feed(Answer("prompt", {}))

    assert steps.weak


def test_an_agent_that_answers_marks_is_not_weak_whatever_has_no_mark() -> None:
    steps = steps_of("open", "prompt")
    steps.due()
    for answer in (Answer("init", {}), mark("open"), Answer("open", {}), mark("prompt")):
        steps.feed(answer)

    assert not steps.weak


# -- any life of a turn ------------------------------------------------------------------------


class Agent:
    """Reads its pipe in order, answers marks at once and all else when it likes."""

    def __init__(self, chance: random.Random, *, deaf: bool) -> None:
        self._chance = chance
        self._deaf = deaf
        self._owed: list[str] = []
        self.pipe: deque[bytes] = deque()
        self.spool: list[Answer] = []
        self.done: Counter[str] = Counter()

    def act(self) -> bool:
        """Do one thing, if there is one to do."""
        if self.pipe and (not self._owed or self._chance.random() < 0.6):
            asked = read(self.pipe.popleft())
            assert isinstance(asked, Request) and isinstance(asked.id, str)
            if asked.method != MARK_METHOD:
                self.done[asked.id] += 1
                self._owed.append(asked.id)
            elif not self._deaf:
                self.spool.append(not_found(asked))
        elif self._owed:
            self.spool.append(Answer(self._owed.pop(self._chance.randrange(len(self._owed))), {}))
        else:
            return False
        return True


class Daemon:
    """Conducts the agent; ``careless`` takes what it knows nothing of for unwritten."""

    def __init__(self, agent: Agent, *, first: bool, steers: bool, careless: bool) -> None:
        self._agent = agent
        self._steps = Steps(version=False)
        self._read = 0
        self._steps.begin("init")
        taken_up = not (first or careless)
        if taken_up and steers:
            self._steps.expect(STEER)
        self._fold()
        if taken_up:
            self._steps.attached()
        self._groups: deque[Group] = deque()

    def _fold(self) -> None:
        for answer in self._agent.spool[self._read :]:
            match self._steps.feed(answer):
                case "init":
                    self._steps.plan("open", line("open"))
                case "open":
                    self._steps.plan("prompt", line("prompt"))
        self._read = len(self._agent.spool)

    def say(self) -> None:
        """Steer: harmless to do again."""
        if not self._steps.doubtful:
            self._steps.plan(STEER, line(STEER))

    def act(self) -> None:
        """Read what is there, and write one group."""
        self._fold()
        self._groups += self._steps.due()
        if self._groups:
            self._agent.pipe += self._groups.popleft()


def live(seed: int, kills: int, *, careless: bool = False, deaf: bool = False) -> Agent:
    """Play a turn with a steer in which the daemon is killed so many times."""
    chance = random.Random(seed)
    agent = Agent(chance, deaf=deaf)
    agent.pipe.append(line("init"))
    said, daemon = False, Daemon(agent, first=True, steers=False, careless=careless)
    for _ in range(400):
        what = chance.random()
        if what < 0.1 and kills:
            kills -= 1
            daemon = Daemon(agent, first=False, steers=said, careless=careless)
        elif what < 0.5:
            agent.act()
        else:
            said = said or agent.done["prompt"] > 0
            if said:
                daemon.say()
            daemon.act()
    for _ in range(400):
        agent.act()
        if said:
            daemon.say()
        daemon.act()
    return agent


@given(st.integers(0, 2**32), st.integers(0, 8))
def test_every_step_arrives_once_however_often_the_daemon_dies(seed: int, kills: int) -> None:
    agent = live(seed, kills)

    assert agent.done == {"init": 1, "open": 1, "prompt": 1, STEER: 1}


@given(st.integers(0, 2**32), st.integers(0, 8))
def test_an_agent_that_answers_no_marks_gets_no_step_twice(seed: int, kills: int) -> None:
    agent = live(seed, kills, deaf=True)

    assert set(agent.done.values()) == {1}


def test_without_probes_steps_would_be_doubled() -> None:
    doubled = [seed for seed in range(50) if max(live(seed, 4, careless=True).done.values()) > 1]

    assert len(doubled) > 10
