"""The native agent: its model, the key for it, and the sandbox of its commands."""

from __future__ import annotations

import os

import trio

from podiumd.agents.examination import Examined, Found, Provider
from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model.anthropic import DEFAULT_MODEL
from podiumd.agents.native.model.endpoint import find_endpoint, problem
from podiumd.observe.checks import Check, broken, ok
from podiumd.tools.sandbox.sandbox import Probe


def examine(asked: Examined) -> Check:
    """Look at its model, its key and its sandbox."""
    name, settings = asked.check, _settings(asked)
    reason = problem(settings, asked.daemon_environ, asked.agent.name)
    if reason is not None and settings == NativeSettings():
        return ok(name, f"not set up, and nothing else needs it ({reason})")
    if reason is not None and problem(settings, asked.environ, asked.agent.name) is None:
        message = "its key is set here and not in the daemon's environment"
        return broken(name, message, f"{asked.anew} from this shell")
    if reason is not None:
        return broken(name, reason, "set what is missing; 'podium config show' tells what is set")
    return _confined(asked, _model(asked), settings.sandbox)


def found(asked: Examined) -> Found:
    """Return that it is there: it is a part of Podium."""
    return Found()


def is_ready(asked: Examined) -> bool:
    """Return whether a model can be asked."""
    return at_hand(asked)


def at_hand(asked: Examined) -> bool:
    """Return whether a model can be asked, as far as settings and environment show."""
    return problem(_settings(asked), asked.daemon_environ, asked.agent.name) is None


def provider(asked: Examined) -> Provider | None:
    """Return where its model is."""
    settings, environ = _settings(asked), asked.daemon_environ
    if settings.provider == "scripted" or not at_hand(asked):
        return None
    endpoint = find_endpoint(settings.provider, settings, environ, asked.agent.name)
    return Provider(endpoint.url, endpoint.url_name, environ)


def _settings(asked: Examined) -> NativeSettings:
    settings = asked.agent.settings
    assert isinstance(settings, NativeSettings)
    return settings


def _model(asked: Examined) -> str:
    """Describe the model that is asked, where, and with which key."""
    settings, environ = _settings(asked), asked.daemon_environ
    if settings.provider == "scripted":
        return f"replies of {settings.model}" if settings.model else "scripted replies, a demo"
    endpoint = find_endpoint(settings.provider, settings, environ, asked.agent.name)
    # Without a setting a server of OpenAI's kind is asked which one it has.
    default = DEFAULT_MODEL if settings.provider == "anthropic" else "the server's own model"
    where = f"of {settings.provider}" if endpoint.own else f"at {endpoint.host}"
    key = f"key in {endpoint.key_name}" if endpoint.key else "without a key"
    return f"{settings.model or default} {where}, {key}"


def _confined(asked: Examined, words: str, policy: str) -> Check:
    """Build the finding, with the worth of the sandbox that is found on the daemon's path."""
    name, setting = asked.check, f"agents.{asked.agent.name}.sandbox"
    if policy == "off":
        return ok(name, f"{words}; commands run without a sandbox ({setting})")
    probe = Probe(path=asked.daemon_environ.get("PATH", os.defpath))
    program, fault = trio.run(probe.program)
    if policy == "required" and (old := trio.run(probe.git_fault)):
        return broken(name, f"{words}; no command can run: {old}", "install git 2.38 or newer")
    if program is not None:
        return ok(name, f"{words}; commands run in {program}")
    if policy == "required":
        return broken(name, f"{words}; no command can run: {fault}", "make the sandbox usable")
    return ok(name, f"{words}; commands run without a sandbox: {fault}")
