"""Whether any agent can work, in one sentence: what ``podium up`` says beside where it is."""

from __future__ import annotations

from podiumd.agents.native.model.endpoint import problem
from podiumd.doctor import agents, provider
from podiumd.doctor.subject import Subject


def unready(subject: Subject) -> str:
    """Why no agent can work yet; nothing where one can."""
    native = problem(subject.config.agents.native, subject.daemon_environ) is None
    (claude,) = agents.claude(subject)
    if claude.state != "ok" and not native:
        if claude.message.startswith(agents.NOT_LOGGED_IN):
            return (
                f"No agent is ready yet: {agents.NOT_LOGGED_IN}: 'podium doctor' says what to do."
            )
        return "No agent is ready yet: 'podium doctor' says what to install."
    providers = provider.provider(subject)
    lost = [one for one in providers if one.state != "ok"]
    if lost and len(lost) == len(providers):
        return (
            f"No agent can work just now: {lost[0].message} ('podium doctor' says what to check)."
        )
    return ""
