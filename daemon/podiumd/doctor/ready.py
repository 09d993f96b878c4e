"""The agents' readiness, in one sentence: what ``podium up`` prints beside where it is."""

from __future__ import annotations

from podiumd.doctor import agents, provider
from podiumd.doctor.subject import Subject


def unready(subject: Subject) -> str:
    """Return why no agent can work yet; nothing where one can."""
    looks = {name: agents.examined(subject, name) for name in subject.config.agents}
    if not any(doctor.is_ready(asked) for doctor, asked in looks.values()):
        for name, (doctor, asked) in looks.items():
            stranger = f"{name} is not logged in"
            if doctor.examine(asked).message.startswith(stranger):
                return f"No agent is ready yet: {stranger}: 'podium doctor' says what to do."
        return "No agent is ready yet: 'podium doctor' says what to install."
    providers = provider.provider(subject)
    lost = [one for one in providers if one.state != "ok"]
    if lost and len(lost) == len(providers):
        return (
            f"No agent can work just now: {lost[0].message} ('podium doctor' says what to check)."
        )
    return ""
