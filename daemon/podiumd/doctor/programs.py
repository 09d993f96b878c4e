"""Programs and parts beside the agents: git, and speech."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from podiumd.agents.examination import ask
from podiumd.config.settings import VoiceSettings
from podiumd.doctor.subject import Subject
from podiumd.observe.checks import Check, broken, ok, warn
from podiumd.speech.engines import openai, wyoming
from podiumd.speech.models import Models
from podiumd.tools.commit.identity import IDENTITIES, identity_variables
from podiumd.tools.git.settings import git_environment, too_old


def git(subject: Subject) -> list[Check]:
    """git, for recipes that commit and for working trees."""
    program = shutil.which("git", path=subject.daemon_environ.get("PATH"))
    if program is None:
        message = "there is no git: recipes cannot commit, and worktrees cannot be made"
        return [broken("git", message, "install git")]
    said, fault = ask(program, ["--version"], dict(subject.daemon_environ))
    if fault:
        return [broken("git", f"{program} {fault}", "install git anew")]
    words = f"{said.removeprefix('git version ')} at {program}"
    old = too_old(said)
    return (
        [warn("git", f"{words}: {old}", "install git 2.38 or newer")] if old else [ok("git", words)]
    )


def identity(subject: Subject) -> list[Check]:
    """Check the committer that git uses, by its settings or the environment."""
    name, program = "git identity", shutil.which("git", path=subject.daemon_environ.get("PATH"))
    if program is None:
        return [ok(name, "not checked: there is no git")]
    said, theirs = "", subject.daemon_environ
    environ = git_environment(theirs) | identity_variables(theirs)
    for wanted in IDENTITIES:
        said, fault = ask(program, ["var", wanted], environ)
        if fault:
            message = (
                "git does not know who you are: what agents change can be committed only in a "
                "repository whose own settings say it"
            )
            fix = (
                "git config --global user.name 'Your Name' and git config --global user.email "
                "you@example.org"
            )
            return [warn(name, message, fix)]
    return [ok(name, said.rpartition(">")[0] + ">")]


def voice(subject: Subject) -> list[Check]:
    """Speech is an extra."""
    import importlib.util

    settings = subject.config.voice
    if not settings.enabled:
        return [ok("voice", "off (voice.enabled)")]
    if settings.engine != "worker":
        fault = _server_fault(settings, subject.daemon_environ)
        if fault is not None:
            message, _, fix = fault.partition(". ")
            return [warn("voice", message, fix.removesuffix("."))]
        return [ok("voice", f"engine {settings.engine} {settings.url}".rstrip())]
    if importlib.util.find_spec("faster_whisper") is None:
        return [ok("voice", "not installed, and nothing else needs it")]
    models = Models(subject.places.state, subject.daemon_environ)
    found = models.find(settings.model)
    if found is None:
        problem, _, fix = models.missing(settings.model).partition(". ")
        return [warn("voice", problem, fix.removesuffix(".") or "name another in voice.model")]
    return [ok("voice", f"installed; model {settings.model} in {found}")]


def _server_fault(settings: VoiceSettings, environ: Mapping[str, str]) -> str | None:
    if settings.engine == "openai":
        return openai.setup_fault(settings, environ)
    return wyoming.setup_fault(settings) if settings.engine == "wyoming" else None
