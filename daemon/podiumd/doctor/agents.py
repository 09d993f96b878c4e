"""The agents that are configured: each is looked at by what its folder has for that."""

from __future__ import annotations

from podiumd.agents.examination import Doctor, Examined, doctor_of
from podiumd.doctor.subject import Subject
from podiumd.observe.checks import Check


def agent(subject: Subject, name: str) -> list[Check]:
    """Look at one agent."""
    doctor, asked = examined(subject, name)
    return [doctor.examine(asked)]


def examined(subject: Subject, name: str) -> tuple[Doctor, Examined]:
    """Return an agent to look at, and its doctor."""
    doctor, asked = _alone(subject, name)
    others = [_alone(subject, other) for other in subject.config.agents if other != name]
    at_hand = tuple(one.agent.name for looks, one in others if looks.at_hand(one))
    return doctor, Examined(
        agent=asked.agent,
        environ=asked.environ,
        daemon_environ=asked.daemon_environ,
        anew=asked.anew,
        at_hand=at_hand,
        answers=subject.answers,
        until=subject.until,
    )


def _alone(subject: Subject, name: str) -> tuple[Doctor, Examined]:
    configured = subject.config.agents[name]
    served = (subject.daemon.status or {}).get("service")
    return doctor_of(configured.kind), Examined(
        agent=configured,
        environ=subject.environ,
        daemon_environ=subject.daemon_environ,
        anew="'podium service install'" if served else subject.restart,
        answers=subject.answers,
        until=subject.until,
    )
