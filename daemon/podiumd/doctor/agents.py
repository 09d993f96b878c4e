"""The agents: found and runnable, and which version."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from podiumd.doctor.report import Check, broken, ok, warn
from podiumd.doctor.subject import Subject
from podiumd.drivers.claude_args import ENVIRONMENT
from podiumd.drivers.script import ScriptError, load_script
from podiumd.tools.environment import child_environment

_ANSWER_SECONDS: Final = 10.0
_MOST_SAID: Final = 200


def claude(subject: Subject) -> list[Check]:
    """Claude Code, with the environment that the daemon gives it."""
    name, command = "agent claude", subject.config.agents.claude.command
    theirs, ours = _environment(subject, subject.daemon_environ), _environment(subject)
    program = shutil.which(command, path=theirs.get("PATH"))
    if program is None:
        elsewhere = shutil.which(command, path=ours.get("PATH"))
        if elsewhere is not None:
            message = f"{elsewhere} is on your PATH and not on the daemon's"
            fix = (
                f"{_anew(subject)} from this shell, or set agents.claude.command to the whole path"
            )
            return [broken(name, message, fix)]
        message = f"'{command}' is no program on PATH"
        fix = "install Claude Code, or set agents.claude.command in the configuration"
        return [broken(name, message, fix)]
    said, fault = ask(program, ["--version"], theirs | ENVIRONMENT)
    if fault:
        fix = "run it yourself to see why, or install it anew"
        return [broken(name, f"{program} {fault}", fix)]
    return [ok(name, f"{said} at {program}")]


def scripted(subject: Subject) -> list[Check]:
    """The scripted agent, whose file of turns must be readable where there is one."""
    script = subject.config.agents.scripted.script
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
    return [ok("git", f"{said.removeprefix('git version ')} at {program}")]


def ask(program: str, options: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    """The first line that a program says, or what is wrong with it."""
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
        return "", f"cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return "", f"{' '.join(options)} did not answer within {_ANSWER_SECONDS:g} s"
    words = (done.stdout or done.stderr).decode(errors="replace").strip().partition("\n")[0]
    if done.returncode != 0:
        return "", f"{' '.join(options)} ended with status {done.returncode}: {words[:_MOST_SAID]}"
    return words[:_MOST_SAID] or "no version told", ""


def _anew(subject: Subject) -> str:
    """What gives the daemon the environment of the shell that it is typed in."""
    served = (subject.daemon.status or {}).get("service")
    return "'podium service install'" if served else subject.restart


def _environment(subject: Subject, base: Mapping[str, str] | None = None) -> dict[str, str]:
    settings = subject.config.agents.claude
    environment = child_environment(
        subject.environ if base is None else base,
        agent="claude",
        pass_env=settings.pass_env,
        extra_env=settings.env,
        marker="",
    )
    return {name: value for name, value in environment.items() if not name.startswith("PODIUM_")}


def voice(subject: Subject) -> list[Check]:
    """Speech is an extra."""
    import importlib.util

    settings = subject.config.voice
    if not settings.enabled:
        return [ok("voice", "off (voice.enabled)")]
    if importlib.util.find_spec("faster_whisper") is None:
        return [ok("voice", "not installed, and nothing else needs it")]
    looks_like_path = "/" in settings.model
    if looks_like_path and not Path(settings.model).expanduser().is_dir():
        message = f"voice.model: there is no directory {settings.model}"
        return [warn("voice", message, 'name a model, for example "base", or another directory')]
    return [ok("voice", f"installed; model {settings.model}")]
