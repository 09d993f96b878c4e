"""Trusting a project's recipes: what is shown, what is asked, what is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.client.fake_daemon import FakeDaemon, Refused, podium
from tests.client.terminal import Terminal

Json = Any

LONG = "x" * 300
RECIPE: Json = {
    "id": "ship",
    "label": "Ship\x1b[2J it",
    "description": "",
    "source": "project",
    "path": "/p/.podium/recipes/ship.toml",
    "shadows": ["user", "builtin"],
    "trusted": False,
    "changed": False,
    "digest": "1" * 64,
    "steps": {
        "build": {
            "kind": "turn",
            "prompt": "Build\nit. " + LONG,
            "allow": ["Bash", "Edit"],
            "permission_mode": "acceptEdits",
            "checks": [{"run": ["make", "the tests", LONG, "; rm -rf\n ~\x1b[8m"]}],
        },
        "send": {"kind": "command", "run": ["./send", "--now"]},
        "wipe": {"kind": "command", "shell": "cat | sh\nrm x"},
        "talk": {
            "kind": "talk",
            "system": "Be kind.",
            "hooks": [{"event": "turn-end", "run": ["./hook"], "match": None}],
        },
        "call": {"kind": "call", "recipe": "other"},
        "ask": {"kind": "gate", "ask": "Sure?"},
    },
}
REVIEW = f"""\
ship: Ship\\x1b[2J it
  /p/.podium/recipes/ship.toml
  takes the place of the user and builtin recipe of that name
  build
    prompt of 310 characters: Build it. {LONG[:89]}…
    allows unasked: Bash, Edit
    permission mode: acceptEdits
    then checks: make 'the tests' {LONG} '; rm -rf\\n ~\\x1b[8m'
  send
    runs: ./send --now
  wipe
    runs in a shell: cat | sh\\nrm x
  talk
    system of 8 characters: Be kind.
    hook turn-end: ./hook
  call
    runs the recipe: other
  ask

"""


def project(daemon: FakeDaemon, *recipes: Json) -> None:
    """Make the fake one that knows a project's recipes, and one that is built in.

    A recipe that is asked for by its source shadows none, as with the daemon.
    """
    whole = {f"project.{one['id']}": {**one, "shadows": []} for one in recipes}
    built_in = {"id": "theirs", "source": "builtin", "trusted": True, "ok": True}
    listed = [{"ok": True, **one, "steps": None} for one in recipes]
    daemon.answers["recipes.list"] = [*listed, built_in]
    daemon.answers["recipes.get"] = lambda params: whole[params["id"]]
    daemon.answers["recipes.trust"] = lambda params: [
        {"id": id_, "digest": digest} for id_, digest in params["digests"].items()
    ]


def another(**more: Any) -> Json:
    return {**RECIPE, "id": "other", "shadows": [], "digest": "2" * 64, "steps": {}, **more}


def test_what_a_recipe_would_do_is_shown_whole_and_trusted_as_it_was_shown(
    daemon: FakeDaemon,
) -> None:
    project(daemon, RECIPE)

    done = podium(daemon, "recipe", "trust", "/p", "--yes")

    assert (done.returncode, done.stdout) == (0, f"{REVIEW}Trusted: ship.\n")
    digests = {"ship": "1" * 64}
    assert daemon.params_of("recipes.trust") == [{"working_directory": "/p", "digests": digests}]
    assert daemon.params_of("recipes.get") == [{"id": "project.ship", "working_directory": "/p"}]


@pytest.mark.parametrize("answer", ["y", "Yes"])
def test_at_a_terminal_a_person_is_asked(daemon: FakeDaemon, answer: str) -> None:
    project(daemon, RECIPE, another(changed=True))
    with Terminal(daemon, "recipe", "trust", "--cwd", "/p") as terminal:
        terminal.expect("changed since it was trusted")
        terminal.expect("Trust these 2 recipes, with its commands and prompts as they are now?")
        assert daemon.params_of("recipes.trust") == []
        terminal.type(f"{answer}\n")
        terminal.expect("Trusted: ship, other.")
        assert terminal.end() == 0


@pytest.mark.parametrize("answer", ["\n", "n\n", "yesterday\n", "\x04"])
def test_anything_but_yes_trusts_nothing(daemon: FakeDaemon, answer: str) -> None:
    project(daemon, RECIPE)
    with Terminal(daemon, "recipe", "trust", "/p") as terminal:
        terminal.expect("Trust this recipe, ")
        terminal.type(answer)
        terminal.expect("Nothing was trusted.")
        assert terminal.end() == 1
    assert daemon.params_of("recipes.trust") == []


@pytest.mark.parametrize(
    ("option", "words"), [("--cwd=/p", "No terminal to ask at"), ("--json", "add --yes")]
)
def test_without_a_person_nothing_is_trusted_unless_told(
    daemon: FakeDaemon, option: str, words: str
) -> None:
    project(daemon, RECIPE)

    done = podium(daemon, "recipe", "trust", option, stdin=b"y\n")

    assert done.returncode == 2
    assert words in done.stderr
    assert daemon.params_of("recipes.trust") == []


def test_only_what_is_new_is_shown_and_what_was_trusted_stays_so(daemon: FakeDaemon) -> None:
    project(daemon, RECIPE, another(trusted=True))

    done = podium(daemon, "recipe", "trust", "/p", "--yes")

    assert done.stdout == f"{REVIEW}Trusted: ship.\n"
    (params,) = daemon.params_of("recipes.trust")
    assert params["digests"] == {"ship": "1" * 64, "other": "2" * 64}


def test_where_all_is_trusted_nobody_is_asked(daemon: FakeDaemon) -> None:
    project(daemon, another(trusted=True))

    done = podium(daemon, "recipe", "trust", "/p")
    as_json = podium(daemon, "recipe", "trust", "/p", "--json")

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "The project's recipes are trusted already.\n"
    assert json.loads(as_json.stdout) == [{"id": "other", "digest": "2" * 64}]


def test_a_broken_recipe_is_named_and_the_others_can_be_trusted(daemon: FakeDaemon) -> None:
    project(daemon, RECIPE, another(id="bad", ok=False))

    done = podium(daemon, "recipe", "trust", "/my p", "--yes")

    assert done.stderr == (
        "bad is broken and cannot be trusted: 'podium recipe show bad --cwd '/my p'' says why.\n"
    )
    assert daemon.params_of("recipes.trust")[0]["digests"] == {"ship": "1" * 64}
    project(daemon, another(id="bad", ok=False))
    only_broken = podium(daemon, "recipe", "trust", "/p", "--yes")
    assert (only_broken.returncode, only_broken.stdout) == (1, "")


def test_a_project_without_recipes_has_nothing_to_trust(daemon: FakeDaemon) -> None:
    project(daemon)

    done = podium(daemon, "recipe", "trust", "/p")
    as_json = podium(daemon, "recipe", "trust", "/p", "--json")

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "/p has no recipes of its own: nothing to trust.\n"
    assert (as_json.returncode, json.loads(as_json.stdout)) == (0, [])
    assert daemon.params_of("recipes.trust") == []


def test_where_recipes_are_off_that_is_said(daemon: FakeDaemon) -> None:
    daemon.answers["recipes.list"] = []

    assert "podium orchestration on" in podium(daemon, "recipe", "trust").stderr


def test_trust_can_be_taken_back(daemon: FakeDaemon) -> None:
    project(daemon, RECIPE)

    done = podium(daemon, "recipe", "trust", "/p", "--revoke")

    assert (done.returncode, done.stdout) == (0, "No recipe of the project is trusted any more.\n")
    assert daemon.calls == [("recipes.trust", {"working_directory": "/p", "digests": {}})]


def test_what_changed_while_it_was_read_is_refused_in_the_daemons_words(
    daemon: FakeDaemon,
) -> None:
    def refuse(params: Json) -> None:
        raise Refused(-32006, "Recipe 'ship' has changed.", {"reason": "It has changed."})

    project(daemon, RECIPE)
    daemon.answers["recipes.trust"] = refuse

    done = podium(daemon, "recipe", "trust", "/p", "--yes")

    assert (done.returncode, done.stderr) == (1, "podium: Recipe 'ship' has changed.\n")


def test_the_project_is_named_once(daemon: FakeDaemon) -> None:
    done = podium(daemon, "recipe", "trust", "/p", "--cwd", "/q")

    assert (done.returncode, daemon.calls) == (2, [])
    assert "given twice" in done.stderr
