"""The agents: found and runnable, and which version."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import trio

from podiumd.agents.claude.arguments import ENVIRONMENT
from podiumd.agents.native.model.anthropic import DEFAULT_MODEL
from podiumd.agents.native.model.endpoint import find_endpoint, problem
from podiumd.agents.scripted.script import ScriptError, load_script
from podiumd.config.paths import of_home
from podiumd.config.settings import NativeSettings, VoiceSettings
from podiumd.doctor.login import KEYS, Login, by_environment, by_its_word, was_started
from podiumd.doctor.report import Check, broken, ok, warn
from podiumd.doctor.subject import Subject
from podiumd.speech.engines import openai, wyoming
from podiumd.speech.models import Models
from podiumd.tools.commit.identity import IDENTITIES, identity_variables
from podiumd.tools.git.settings import git_environment, too_old
from podiumd.tools.process.environment import child_environment
from podiumd.tools.sandbox.sandbox import Probe

_ANSWER_SECONDS: Final = 10.0
_MOST_SAID: Final = 200
NOT_LOGGED_IN: Final = "claude is not logged in"


def claude(subject: Subject) -> list[Check]:
    """Claude Code, with the environment that the daemon gives it.

    Where it is missing and the native agent can be used, nothing is broken.
    """
    name, command = "agent claude", subject.config.agents.claude.command
    theirs, ours = environment(subject, subject.daemon_environ), environment(subject)
    program = shutil.which(command, path=theirs.get("PATH"))
    if program is None:
        elsewhere = shutil.which(command, path=ours.get("PATH"))
        if elsewhere is not None:
            message = f"{elsewhere} is on your PATH and not on the daemon's"
            fix = (
                f"{_anew(subject)} from this shell, or set agents.claude.command to the whole path"
            )
            return [_missing(subject, message, fix)]
        message = f"'{command}' is no program on PATH"
        fix = (
            "install Claude Code, or set agents.claude.command in the configuration; or use "
            "Podium's own agent ('--agent native'), which needs no more than a model's key in "
            "ANTHROPIC_API_KEY, or a local model: see docs/native.md"
        )
        return [_missing(subject, message, fix)]
    said, fault, login = _of_claude(subject, program, theirs)
    if fault:
        fix = "run it yourself to see why, or install it anew"
        return [broken(name, f"{program} {fault}", fix)]
    if login.there is False:
        return [_not_logged_in(subject, f"{said} at {program}", theirs, ours)]
    how = f", {login.how}" if login.how else ""
    return [ok(name, f"{said} at {program}{how}")]


def _of_claude(
    subject: Subject, program: str, environment: Mapping[str, str]
) -> tuple[str, str, Login]:
    """Its version, or what is wrong with it, and its login; whoever looks, it is asked once."""
    key = (program, *sorted(environment.items()))
    if key not in subject.of_claude:
        said, fault = ask(program, ["--version"], {**environment, **ENVIRONMENT})
        login = Login(there=None) if fault else _login(program, environment)
        subject.of_claude[key] = said, fault, login
    return subject.of_claude[key]


def _login(program: str, environment: Mapping[str, str]) -> Login:
    """By its own word, but never so that it makes files in a home where there are none."""
    if not was_started(environment):
        return by_environment(environment)
    status, words, _ = _answer(
        program, ["auth", "status", "--json"], {**environment, **ENVIRONMENT}
    )
    return Login(there=None) if status is None else by_its_word(words)


def _not_logged_in(
    subject: Subject, found: str, theirs: Mapping[str, str], ours: Mapping[str, str]
) -> Check:
    """The key may be in the shell of whoever asks, and not with the daemon."""
    keys = [name for name in KEYS if ours.get(name) and not theirs.get(name)]
    if keys:
        message = f"{NOT_LOGGED_IN}: {keys[0]} is set here and not in the daemon's environment"
        return warn("agent claude", f"{message} ({found})", f"{_anew(subject)} from this shell")
    fix = f"run 'claude' in a terminal and log in, or export {KEYS[0]} and then {_anew(subject)}"
    return warn("agent claude", f"{NOT_LOGGED_IN} ({found})", fix)


def _missing(subject: Subject, message: str, fix: str) -> Check:
    """Claude Code, without which a person may do."""
    if problem(subject.config.agents.native, subject.daemon_environ) is not None:
        return broken("agent claude", message, fix)
    return warn("agent claude", f"{message}; the native agent needs it not", f"to use it, {fix}")


def native(subject: Subject) -> list[Check]:
    """The native agent: its model, the key for it, and the sandbox of its commands."""
    name, settings = "agent native", subject.config.agents.native
    reason = problem(settings, subject.daemon_environ)
    if reason is not None and settings == NativeSettings():
        return [ok(name, f"not set up, and nothing else needs it ({reason})")]
    if reason is not None and problem(settings, subject.environ) is None:
        message = "its key is set here and not in the daemon's environment"
        return [broken(name, message, f"{_anew(subject)} from this shell")]
    if reason is not None:
        fix = "set what is missing; 'podium config show' tells what is set"
        return [broken(name, reason, fix)]
    words = _model(settings, subject.daemon_environ)
    path = subject.daemon_environ.get("PATH", os.defpath)
    return [_confined(name, words, settings.sandbox, path)]


def _model(settings: NativeSettings, environ: Mapping[str, str]) -> str:
    """Which model is asked, where, and with which key."""
    if settings.provider == "scripted":
        return f"replies of {settings.model}" if settings.model else "scripted replies, a demo"
    endpoint = find_endpoint(settings.provider, settings, environ)
    # Without a setting a server of OpenAI's kind is asked which one it has.
    default = DEFAULT_MODEL if settings.provider == "anthropic" else "the server's own model"
    where = f"of {settings.provider}" if endpoint.own else f"at {endpoint.host}"
    key = f"key in {endpoint.key_name}" if endpoint.key else "without a key"
    return f"{settings.model or default} {where}, {key}"


def _confined(name: str, words: str, policy: str, path: str) -> Check:
    """The finding, with what the sandbox is worth that is found on the daemon's ``path``."""
    if policy == "off":
        return ok(name, f"{words}; commands run without a sandbox (agents.native.sandbox)")
    probe = Probe(path=path)
    program, fault = trio.run(probe.program)
    if policy == "required" and (old := trio.run(probe.git_fault)):
        return broken(name, f"{words}; no command can run: {old}", "install git 2.38 or newer")
    if program is not None:
        return ok(name, f"{words}; commands run in {program}")
    if policy == "required":
        return broken(name, f"{words}; no command can run: {fault}", "make the sandbox usable")
    return ok(name, f"{words}; commands run without a sandbox: {fault}")


def scripted(subject: Subject) -> list[Check]:
    """The scripted agent, whose file of turns must be readable where there is one."""
    script = of_home(subject.config.agents.scripted.script, subject.environ)
    if not script:
        return [ok("agent scripted", "built in, plays its demo")]
    try:
        load_script(Path(script))
    except ScriptError as error:
        fix = "mend the file, or empty agents.scripted.script: no daemon starts like this"
        return [broken("agent scripted", f"agents.scripted.script: {error}".rstrip("."), fix)]
    return [ok("agent scripted", f"plays {script}")]


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
    """Who git says makes the commits, by its settings or the environment."""
    name, program = "git identity", shutil.which("git", path=subject.daemon_environ.get("PATH"))
    if program is None:
        return [ok(name, "not looked at: there is no git")]
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


def ask(program: str, options: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    """The first line that a program says, or what is wrong with it."""
    status, said, fault = _answer(program, options, environment)
    words = said.partition("\n")[0]
    if fault:
        return "", fault
    if status != 0:
        return "", f"{' '.join(options)} ended with status {status}: {words[:_MOST_SAID]}"
    return words[:_MOST_SAID] or "no version told", ""


def _answer(
    program: str, options: Sequence[str], environment: Mapping[str, str]
) -> tuple[int | None, str, str]:
    """Status and words of a program, or why there are none."""
    try:
        done = subprocess.run(
            [program, *options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environment),
            cwd="/",
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except OSError as error:
        return None, "", f"cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return None, "", f"{' '.join(options)} did not answer within {_ANSWER_SECONDS:g} s"
    return done.returncode, (done.stdout or done.stderr).decode(errors="replace").strip(), ""


def _anew(subject: Subject) -> str:
    """What gives the daemon the environment of the shell that it is typed in."""
    served = (subject.daemon.status or {}).get("service")
    return "'podium service install'" if served else subject.restart


def environment(subject: Subject, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """What Claude Code is given where ``base``, else our own environment, is the daemon's."""
    settings = subject.config.agents.claude
    given = child_environment(
        subject.environ if base is None else base,
        agent="claude",
        pass_env=settings.pass_env,
        extra_env=settings.env,
        marker="",
    )
    return {name: value for name, value in given.items() if not name.startswith("PODIUM_")}


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
