"""Recipes: list, show, outcome, the switch; and raw calls."""

import json
from pathlib import Path

import pytest

from tests.client.fake_daemon import FakeDaemon, Refused, podium
from tests.client.stories import RECIPE, Json

WHOLE: Json = {
    "id": "fix-it",
    "label": "Fix it",
    "description": "Fix one thing",
    "initial": "fix",
    "params": {
        "issue": {"type": "string", "description": "which"},
        "note": {"type": "string", "default": ""},
    },
    "limits": {"max_total_steps": 7, "max_cost_usd": None, "on_limit": "exit"},
    "steps": {
        "fix": {
            "kind": "turn",
            "prompt": "Fix {{issue}}.\nDo not commit.",
            "checks": [{"run": ["make", "test"]}],
            "on": {"complete": {"to": "commit"}, "checks-failed": {"to": "fix"}},
        },
        "commit": {
            "kind": "turn",
            "gate": "Commit?",
            "session": "fresh",
            "tools": "read-only",
            "commits": True,
            "prompt": "Commit.",
            "on": {"committed": {"exit": "changes-committed", "class": "completed"}},
        },
    },
}

DRAWN = """\
Fix it (fix-it)
Fix one thing

Parameters
  -p issue=...  string, required  which
  -p note=...  string, default empty

At most: 7 steps in all

╭─ fix ─────────────────────────────────────────────────────────────── start, turn ╮
│ » Fix {{issue}}. Do not commit.                                                  │
│ ✓ make test                                                                      │
╰┬─────────────────────────────────────────────────────────────────────────────────╯
 ├─ complete      ─→ commit
 └─ checks-failed ─↺ fix

╭─ commit ────────────────────────── turn, fresh session, tools read-only, commits ╮
│ ? Commit?                                                                        │
│ » Commit.                                                                        │
╰┬─────────────────────────────────────────────────────────────────────────────────╯
 └─ committed ─✓ changes-committed
"""


def test_the_list_says_where_a_recipe_is_from_and_what_does_not_run(daemon: FakeDaemon) -> None:
    theirs = {**RECIPE, "source": "project", "trusted": False, "shadows": ["user", "builtin"]}
    broken = {**RECIPE, "id": "bad", "source": "user", "ok": False}
    daemon.answers["recipes.list"] = [{**RECIPE, "ok": True, "shadows": []}, theirs, broken]

    done = podium(daemon, "recipe", "list", "--cwd", "/tmp")
    heading, first, second, third = done.stdout.splitlines()

    assert daemon.calls == [("recipes.list", {"working_directory": "/tmp"})]
    assert heading.split() == ["RECIPE", "LABEL", "SOURCE", "DESCRIPTION"]
    columns = [line.split("  ") for line in (first, second, third)]
    assert [[cell.strip() for cell in line if cell.strip()] for line in columns] == [
        ["fix-it", "Fix it", "builtin", "Fix one thing"],
        ["fix-it", "Fix it", "project, untrusted, shadows user and builtin", "Fix one thing"],
        ["bad", "Fix it", "user, broken", "Fix one thing"],
    ]
    why_broken, why_untrusted, instead = done.stderr.splitlines()
    assert "'podium recipe show bad' names its faults" in why_broken
    assert "'podium recipe trust /tmp' shows what it would do" in why_untrusted
    assert "'podium run user.fix-it' starts the user recipe that it shadows" in instead


@pytest.mark.parametrize("command", [["recipe", "show", "bad"], ["run", "bad"]], ids=" ".join)
def test_all_faults_of_a_broken_recipe_are_told_with_file_and_line(
    daemon: FakeDaemon, command: list[str]
) -> None:
    first = {"code": "bad-initial", "level": "error", "line": 5, "file": "/r/bad.toml"}
    second = {"code": "idle-limit", "level": "warning", "line": None, "file": "/r/bad.toml"}
    findings = [{**first, "message": "no step 'a'"}, {**second, "message": "never\nbinds."}]

    def refuse(params: Json) -> None:
        raise Refused(-32003, "Recipe 'bad' has faults: no step 'a'", {"findings": findings})

    daemon.answers |= {"recipes.get": refuse, "runs.start": refuse}

    done = podium(daemon, *command)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "podium: Recipe 'bad' has faults.\n"
        "  /r/bad.toml:5: bad-initial: no step 'a'.\n"
        "  /r/bad.toml:1: warning: idle-limit: never binds.\n"
    )


def test_a_projects_recipe_is_refused_with_the_words_of_the_daemon(daemon: FakeDaemon) -> None:
    def refuse(params: Json) -> None:
        raise Refused(-32006, "It is not trusted.", {"reason": "It is not trusted."})

    daemon.answers["runs.start"] = refuse

    done = podium(daemon, "run", "fix-it")

    assert (done.returncode, done.stderr) == (1, "podium: It is not trusted.\n")


def test_a_recipe_that_changed_since_it_was_trusted_is_marked(daemon: FakeDaemon) -> None:
    theirs = {"source": "project", "trusted": False, "changed": True}
    daemon.answers["recipes.list"] = [{**RECIPE, **theirs}]

    done = podium(daemon, "recipe", "list")

    assert "project, changed, untrusted " in done.stdout
    assert "'podium recipe trust' shows" in done.stderr
    assert "shadows" not in done.stderr


def test_a_recipe_that_is_not_trusted_is_drawn_with_a_word_about_it(daemon: FakeDaemon) -> None:
    where = "/p/.podium/recipes/fix-it.toml"
    daemon.answers["recipes.get"] = {**WHOLE, "trusted": False, "path": where}

    done = podium(daemon, "recipe", "show", "fix-it", "--cwd", "/my pots")

    assert done.stdout == DRAWN
    assert f"({where}) and is not trusted" in done.stderr
    assert "'podium recipe trust '/my pots''" in done.stderr


def test_an_empty_list_names_the_switch(daemon: FakeDaemon) -> None:
    daemon.answers["recipes.list"] = []

    assert "podium orchestration on" in podium(daemon, "recipe", "list").stdout


def test_a_recipe_is_drawn_a_box_for_each_step(daemon: FakeDaemon) -> None:
    daemon.answers["recipes.get"] = WHOLE

    assert podium(daemon, "recipe", "show", "fix-it").stdout == DRAWN
    assert json.loads(podium(daemon, "recipe", "show", "fix-it", "--json").stdout) == WHOLE


@pytest.mark.parametrize("how", ["file", "dash", "nothing"])
def test_a_reply_is_read_from_a_file_or_standard_input(
    daemon: FakeDaemon, tmp_path: Path, how: str
) -> None:
    reply = 'Done.\n{"outcome": "other", "otherDescription": "x"}\n'
    (tmp_path / "reply.txt").write_text(reply)
    daemon.answers["recipes.outcome"] = {
        "ok": True,
        "outcome": "other",
        "description": "x",
        "source": "text",
        "repaired": True,
    }
    last = {"file": [str(tmp_path / "reply.txt")], "dash": ["-"], "nothing": []}[how]

    done = podium(daemon, "recipe", "outcome", "fix-it", "fix", *last, stdin=reply.encode())

    assert (done.stdout, done.returncode) == ("other: x (text, repaired)\n", 0)
    assert daemon.calls[0][1]["text"] == reply


def test_a_reply_of_nothing_is_read_like_every_other(daemon: FakeDaemon) -> None:
    daemon.answers["recipes.outcome"] = {"ok": False, "error": "no-json", "message": "none"}

    done = podium(daemon, "recipe", "outcome", "fix-it", "fix", stdin=b"")

    assert (done.returncode, done.stderr) == (1, "podium: no-json: none.\n")
    assert daemon.params_of("recipes.outcome")[0]["text"] == ""


def test_a_reply_without_an_outcome_is_exit_code_1_with_the_reason(daemon: FakeDaemon) -> None:
    answer = {"ok": False, "error": "no-json", "message": "no JSON in it", "excerpt": "bye\x1b"}
    daemon.answers["recipes.outcome"] = answer

    done = podium(daemon, "recipe", "outcome", "fix-it", "fix", stdin=b"bye")
    as_json = podium(daemon, "recipe", "outcome", "fix-it", "fix", "--json", stdin=b"bye")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "podium: no-json: no JSON in it.\nbye\\x1b\n"
    assert (as_json.returncode, json.loads(as_json.stdout)) == (1, answer)


def test_a_reply_that_is_no_utf8_is_a_usage_error(daemon: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_bytes(b"\xff")

    done = podium(daemon, "recipe", "outcome", "fix-it", "fix", str(tmp_path / "reply.txt"))

    assert (done.returncode, daemon.calls) == (2, [])
    assert "is not valid UTF-8" in done.stderr


@pytest.mark.parametrize(("state", "enabled"), [("on", True), ("off", False)])
def test_without_a_word_the_switch_tells_how_it_is(
    daemon: FakeDaemon, state: str, enabled: bool
) -> None:
    daemon.answers["daemon.status"] = {"orchestration": {"enabled": enabled}}

    done = podium(daemon, "orchestration")
    as_json = podium(daemon, "orchestration", "--json")

    assert done.stdout.startswith(f"Recipes are {state} ('podium orchestration ")
    assert json.loads(as_json.stdout) == {"enabled": enabled}
    assert "daemon.configure" not in [method for method, _ in daemon.calls]


@pytest.mark.parametrize(("state", "enabled"), [("on", True), ("off", False)])
def test_recipes_are_switched(daemon: FakeDaemon, state: str, enabled: bool) -> None:
    daemon.answers["daemon.configure"] = {"enabled": enabled}

    done = podium(daemon, "orchestration", state)

    assert done.stdout.startswith(f"Recipes are {state}")
    assert daemon.calls == [("daemon.configure", {"orchestration_enabled": enabled})]


@pytest.mark.parametrize("way", ["argument", "stdin"])
def test_a_raw_call_prints_the_raw_result(daemon: FakeDaemon, way: str) -> None:
    daemon.answers["runs.get"] = {"text": "\x1b[2J\x9b", "n": [1, None]}
    params = '{"run_id": "1a"}'
    last, stdin = (params, b"") if way == "argument" else ("-", params.encode())

    done = podium(daemon, "rpc", "runs.get", last, stdin=stdin)

    assert json.loads(done.stdout) == daemon.answers["runs.get"]
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert daemon.calls == [("runs.get", {"run_id": "1a"})]


def test_a_raw_call_that_is_refused_tells_code_and_data(daemon: FakeDaemon) -> None:
    def refuse(params: Json) -> None:
        raise Refused(-32002, "There is no run '1a'.", {"kind": "run", "id": "1a"})

    daemon.answers["runs.get"] = refuse

    done = podium(daemon, "rpc", "runs.get", '{"run_id": "1a"}')

    assert done.returncode == 1
    assert done.stderr == (
        'podium: There is no run \'1a\' (code -32002, data {"kind":"run","id":"1a"}).\n'
    )
