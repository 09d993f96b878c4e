"""A person's machine as one test sees it: a home, a model, the agent, repositories, recipes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podiumd.formats.claude_transcript import decode_record, project_directory_name
from tests.fakes.model_server import ModelServer

ROOT = Path(__file__).resolve().parents[2]
PATH = "/usr/local/bin:/usr/bin:/bin"
AGENT_SETTINGS = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
}


@dataclass(frozen=True)
class GitRepo:
    """A repository with one commit and a local identity. ``path`` is its real path."""

    path: Path

    def git(self, *arguments: str) -> str:
        """Run git in it and return what it prints."""
        environment = {"PATH": PATH, "HOME": str(self.path), "LANG": "C.UTF-8"}
        command = ["git", "-C", str(self.path), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    @property
    def head(self) -> str:
        """The id of the commit at HEAD."""
        return self.git("rev-parse", "HEAD")

    @property
    def subjects(self) -> list[str]:
        """The subjects of all commits on HEAD, newest first."""
        return self.git("log", "--format=%s").splitlines()


@dataclass(frozen=True)
class Machine:
    """Everything below ``root``: the person's ``home``, and Podium's own in ``PODIUM_HOME``."""

    root: Path
    home: Path
    claude: Path
    model: ModelServer

    @property
    def podium_home(self) -> Path:
        """PODIUM_HOME."""
        return self.root / "podium"

    @property
    def socket(self) -> Path:
        """The daemon's socket."""
        return self.podium_home / "podium.sock"

    def set_up(self) -> None:
        """Make the directories."""
        for path in (self.home / "tmp", self.podium_home / "recipes"):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def environment(self, **more: str | None) -> dict[str, str]:
        """The person's whole environment, for the daemon, the client and a terminal.

        ``more`` is added; ``None`` takes a variable away.
        """
        usual: dict[str, str | None] = {
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "PODIUM_HOME": str(self.podium_home),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "daemon"), str(ROOT / "client")]),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "dummy",
        }
        merged = {**usual, **more}
        return {name: value for name, value in merged.items() if value is not None}

    def configure(self, env: Mapping[str, str] | None = None, **claude: Any) -> None:
        """Write the configuration: settings of ``[agents.claude]``, ``env`` added to the usual."""
        settings = {"command": str(self.claude), **claude}
        agent = {**AGENT_SETTINGS, **(env or {})}
        lines = ["[gateway]", "port = 0", "[agents.claude]"]
        # JSON's strings, numbers and lists are TOML's too.
        lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        lines += ["[agents.claude.env]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in agent.items()]
        (self.podium_home / "config.toml").write_text("\n".join(lines) + "\n")

    def notify(self, line: str) -> None:
        """Have a command line of the shell told of what needs a person, or is over."""
        with (self.podium_home / "config.toml").open("a") as file:
            file.write(f'[notify]\ncommand = ["sh", "-c", {json.dumps(line)}]\n')

    def speech(self, *lines: str) -> None:
        """Have speech heard as these lines say, one an utterance, round and round."""
        script = self.root / "heard.txt"
        script.write_text("".join(f"{line}\n" for line in lines))
        self.voice(engine="scripted", script=str(script))

    def voice(self, **settings: Any) -> None:
        """Settings of ``[voice]``."""
        with (self.podium_home / "config.toml").open("a") as file:
            file.write("[voice]\n")
            file.writelines(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())

    def recipe(self, identity: str, text: str) -> str:
        """Write a recipe of the user's and return its id."""
        head = f'format = 1\nid = "{identity}"\nlabel = "{identity}"\ndescription = "A test"\n'
        (self.podium_home / "recipes" / f"{identity}.toml").write_text(head + text)
        return identity

    def repository(self, name: str = "project") -> GitRepo:
        """Make a repository with one commit."""
        path = self.root / name
        path.mkdir()
        made = GitRepo(path.resolve())
        made.git("init", "--quiet", "--initial-branch=main")
        made.git("config", "user.name", "A Person")
        made.git("config", "user.email", "person@example.org")
        (path / "README.md").write_text("# A project\n")
        made.git("add", "README.md")
        made.git("commit", "--quiet", "--message=Begin")
        return made

    @property
    def projects(self) -> Path:
        """Where the agent keeps its sessions."""
        return self.home / ".claude" / "projects"

    def transcript_path(self, session_id: str, where: Path) -> Path:
        """Where a session's transcript is if it was begun in ``where``."""
        directory = project_directory_name(str(where.resolve()))
        return self.projects / directory / f"{session_id}.jsonl"

    def transcript(self, session_id: str, where: Path) -> list[bytes]:
        """The lines of a session's transcript."""
        return self.transcript_path(session_id, where).read_bytes().splitlines()

    def prompts(self, session_id: str, where: Path) -> list[str]:
        """What a person (or Podium) has said in a session, in order, as the transcript has it."""
        said = []
        for line in self.transcript(session_id, where):
            record = decode_record(line)
            raw = json.loads(line)
            content = raw.get("message", {}).get("content")
            if record is None or raw.get("type") != "user" or raw.get("isMeta"):
                continue
            if isinstance(content, str):
                said.append(content)
            else:
                said += [block["text"] for block in content if block.get("type") == "text"]
        return said
