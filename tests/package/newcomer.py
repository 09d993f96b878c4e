"""Play a newcomer: an empty home, a fresh clone, the commands of README.md and nothing else.

Run by ``make newcomer``. It takes the commands from README.md itself: "Install" as they stand,
then "First run" with the repository, then "From a phone" with the simulated phone, which connects
to the address that was paired. The agent is the real ``claude``, its model is scripted. Exits 0
if all went as README.md promises, else 1 with what did not. Needs the package index or pip's
cache.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from tests.e2e.install_claude import install
from tests.e2e.machine import AGENT_SETTINGS, PATH, GitRepo
from tests.e2e.stories import bash, when, word
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600.0

QUESTION = "What does this project do?"
ANSWER = "It lists what it has."
COMMIT = "git add -A && git commit --quiet --message='List as JSON'"
RULES: list[dict[str, Any]] = [
    when(re.escape(QUESTION), {"text": ANSWER}),
    when("Perform a code review", word("no-issues")),
    when("Commit the work", bash(COMMIT), word("committed")),
    when("", bash("echo 'print([])' > list.py"), word("complete")),
]


class Disappointed(Exception):
    """Something is not as README.md says; the text tells what."""


def blocks(heading: str) -> list[str]:
    """The commands under a heading of README.md, one text for each fenced block."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


class Newcomer:
    """A person with an empty home on a machine that has Python, git and ``claude``."""

    def __init__(self, home: Path, model: ModelServer) -> None:
        self.home = home
        programs = home / "programs"
        programs.mkdir(parents=True)
        (programs / "claude").symlink_to(install())
        (programs / "python3").symlink_to(Path(sys.executable).resolve())
        self.environment = {
            "HOME": str(home),
            "PATH": f"{home}/.local/bin:{programs}:{PATH}",
            "LANG": "C.UTF-8",
            "USER": "newcomer",
            "XDG_RUNTIME_DIR": str(home / "run"),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "PODIUM_GATEWAY_PORT": "0",  # the usual one may be another's on this machine
            **AGENT_SETTINGS,
        }
        for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        (home / "run").mkdir(mode=0o700)

    def types(self, commands: str, where: Path, lines: str = "") -> str:
        """Type commands into a shell; returns what they print. Raises ``Disappointed``."""
        print(f"$ {commands.strip()}".replace("\n", "\n$ "), flush=True)
        done = subprocess.run(
            ["sh", "-e", "-c", commands],
            cwd=where,
            env=self.environment,
            input=lines,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise Disappointed(f"status {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def living(self) -> dict[int, str]:
        """What of this person runs, by pid."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                entries = (path / "environ").read_bytes().split(b"\0")
                command = (path / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if f"HOME={self.home}".encode() in entries:
                found[int(path.name)] = command.decode(errors="replace")
        return found


def expect(words: str, told: str) -> None:
    """Raise ``Disappointed`` where a text lacks these words."""
    if words not in told:
        raise Disappointed(f"expected {words!r} in:\n{told}")


def installs(person: Newcomer) -> None:
    """ "Install": from a checkout, as it stands there."""
    checkout = person.home / "podium"
    person.types(f"git clone --quiet {shlex.quote(str(ROOT))} podium", person.home)
    (commands,) = blocks("Install")
    person.types(commands, checkout)


def runs_a_recipe(person: Newcomer) -> Path:
    """ "First run", in a repository of theirs; returns that."""
    commands, _ = blocks("First run")
    repository = person.home / "your/repository"
    repository.mkdir(parents=True)
    mine = GitRepo(repository)
    mine.git("init", "--quiet", "--initial-branch=main")
    mine.git("config", "user.name", "A Person")
    mine.git("config", "user.email", "person@example.org")
    mine.git("commit", "--quiet", "--allow-empty", "--message=Begin")
    told = person.types(commands, person.home)
    expect("✓ Task implementation committed successfully (changes-committed)", told)
    if mine.subjects != ["List as JSON", "Begin"]:
        raise Disappointed(f"the commits are {mine.subjects}")
    return repository


def comes_by_phone(person: Newcomer, repository: Path) -> None:
    """ "From a phone": the address and the key that ``podium pair`` prints, and a prompt."""
    told = person.types("podium pair", person.home)
    key = re.search(r"untethered-[0-9a-f]{32}", told)
    address = re.search(r"\bwss?://\S+?:\d+", told)
    if key is None or address is None:
        raise Disappointed(f"no key or no address in:\n{told}")
    trio.run(asks_by_phone, address[0], key[0], repository)


async def asks_by_phone(url: str, key: str, repository: Path) -> None:
    """A phone that has nothing but address and key asks something new, and is answered."""
    async with Phone(url, key) as phone:
        session_id = await phone.new(str(repository), QUESTION)
        await phone.turns(session_id, 1)
        await phone.until(lambda phone: ANSWER in "".join(phone.texts(session_id)))
        if phone.faults:
            raise Disappointed(f"an app would misread: {phone.faults}")


def leaves(person: Newcomer) -> None:
    """``podium down`` leaves nothing that runs."""
    person.types("podium down", person.home)
    if left := person.living():
        raise Disappointed(f"still running: {left}")


@contextmanager
def newcomer() -> Iterator[Newcomer]:
    """Somebody whose home is empty; in the end nothing of them is left."""
    with tempfile.TemporaryDirectory(prefix="newcomer-") as home, ModelServer() as model:
        model.load({"rules": RULES})
        person = Newcomer(Path(home).resolve(), model)
        try:
            yield person
        finally:
            for pid in person.living():
                os.kill(pid, signal.SIGKILL)


def main() -> int:
    """Exit status."""
    try:
        with newcomer() as person:
            installs(person)
            repository = runs_a_recipe(person)
            comes_by_phone(person, repository)
            leaves(person)
    except Disappointed as error:
        print(f"A newcomer is disappointed: {error}", file=sys.stderr)
        return 1
    print("A newcomer installs it, runs a recipe and comes by phone, by README.md alone.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
