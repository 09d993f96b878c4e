"""What is known of a recipe before it runs: check, graph, sim."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client.fake_daemon import FakeDaemon, Refused, podium
from tests.client.stories import Json

COMMITTED: Json = {
    "reason": "changes-committed",
    "category": "completed",
    "class": "completed",
    "message": "Task implementation committed successfully",
    "detail": None,
}
STUCK: Json = {
    "reason": "implementation-blocked",
    "category": "completed",
    "class": "blocked",
    "message": "Implementation blocked - cannot proceed",
    "detail": None,
}
HOPS: list[Json] = [
    {"step": "fix", "outcome": "complete", "to": "commit"},
    {"step": "commit", "outcome": "committed", "to": None},
]
FAULT: Json = {
    "code": "unknown-target",
    "level": "error",
    "step": "fix",
    "line": 7,
    "message": "step 'a\x1b' does not exist",
    "file": "/r/bad.toml",
}
DOUBT: Json = {"code": "unused-param", "level": "warning", "step": None, "line": None} | {
    "message": "nothing uses it"
}


# check


def test_a_clean_recipe_is_said_to_be_so_with_its_worst_case(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    daemon.answers["recipes.check"] = {
        "ok": True,
        "findings": [],
        "worst_case": {"turns": 48, "minutes": 240.0},
    }
    (tmp_path / "fix").write_text("")

    done = podium(daemon, "recipe", "check", "fix", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (
        *(0, "✓ no faults; at worst 48 turns, 240 minutes\n"),
    )
    assert daemon.calls == [("recipes.check", {"path": str(tmp_path / "fix")})]


def test_findings_are_told_with_their_place_and_an_error_is_exit_code_1(
    daemon: FakeDaemon,
) -> None:
    answer = {"ok": False, "findings": [FAULT, DOUBT], "worst_case": None}
    daemon.answers["recipes.check"] = answer

    done = podium(daemon, "recipe", "check", "/r/bad.toml")
    as_json = podium(daemon, "recipe", "check", "/r/bad.toml", "--json")

    assert done.returncode == as_json.returncode == 1
    assert done.stdout == (
        "/r/bad.toml:7: error unknown-target: step 'a\\x1b' does not exist (fix)\n"
        "/r/bad.toml:1: warning unused-param: nothing uses it\n"
        "✗ 1 error, 1 warning\n"
    )
    assert json.loads(as_json.stdout) == daemon.answers["recipes.check"]


def test_a_doubt_alone_is_exit_code_0(daemon: FakeDaemon) -> None:
    daemon.answers["recipes.check"] = {
        "ok": True,
        "findings": [DOUBT],
        "worst_case": {"turns": None, "minutes": 5},
    }

    done = podium(daemon, "recipe", "check", "/r/a.toml")

    assert done.returncode == 0
    assert done.stdout.endswith("✓ 1 warning; at worst no bound on turns, 5 minutes\n")


@pytest.mark.parametrize(
    ("given", "params"),
    [
        ("fix-it", {"id": "fix-it", "working_directory": "/tmp"}),
        ("gone.toml", {"path": "{cwd}/gone.toml"}),
        ("./gone", {"path": "{cwd}/gone"}),
        (".", {"path": "{cwd}"}),
        ("-", {"text": "format = 1\n"}),
    ],
)
def test_a_name_a_path_and_standard_input_are_told_apart(
    daemon: FakeDaemon, tmp_path: Path, given: str, params: Json
) -> None:
    daemon.answers["recipes.check"] = {"ok": True, "findings": []}

    done = podium(
        *(daemon, "recipe", "check", given, "--cwd", "/tmp"), stdin=b"format = 1\n", cwd=tmp_path
    )

    assert done.stdout == "✓ no faults\n"
    expected = {key: value.replace("{cwd}", str(tmp_path)) for key, value in params.items()}
    assert daemon.calls == [("recipes.check", expected)]


# graph


def graph_daemon(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answers["recipes.graph"] = lambda params: {"text": f"digraph {{ {params['format']} }}\n"}
    return daemon


@pytest.mark.parametrize(
    ("options", "format"), [([], "mermaid"), (["--format", "dot"], "dot")], ids=["none", "dot"]
)
def test_a_graph_is_printed_in_the_language_that_is_asked_for(
    daemon: FakeDaemon, options: list[str], format: str
) -> None:
    done = podium(graph_daemon(daemon), "recipe", "graph", "fix-it", "--cwd", "/tmp", *options)

    assert done.stdout == f"digraph {{ {format} }}\n"
    assert daemon.calls == [
        ("recipes.graph", {"id": "fix-it", "format": format, "working_directory": "/tmp"})
    ]


def test_a_graph_is_told_to_programs_as_json(daemon: FakeDaemon) -> None:
    done = podium(graph_daemon(daemon), "recipe", "graph", "fix-it", "--json")

    assert json.loads(done.stdout) == {"text": "digraph { mermaid }\n"}


def test_a_graph_is_written_into_a_file_as_text(daemon: FakeDaemon, tmp_path: Path) -> None:
    done = podium(
        graph_daemon(daemon), "recipe", "graph", "fix-it", "--output", "a.mmd", cwd=tmp_path
    )

    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "a.mmd").read_text() == "digraph { mermaid }\n"


def fake_dot(directory: Path, script: str) -> dict[str, str]:
    """An environment whose only program is a ``dot`` of ours."""
    path = directory / "bin"
    path.mkdir()
    (path / "dot").write_text(f"#!/bin/sh\n{script}\n")
    (path / "dot").chmod(0o755)
    return {"PATH": f"{path}:/usr/bin:/bin"}


def test_a_picture_is_drawn_by_graphviz_from_dot(daemon: FakeDaemon, tmp_path: Path) -> None:
    settings = fake_dot(tmp_path, 'echo "$1 $2" > "$3"; cat >> "$3"')

    done = podium(
        *(graph_daemon(daemon), "recipe", "graph", "fix-it", "--output", "a b.SVG"),
        cwd=tmp_path,
        settings=settings,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "a b.SVG").read_text() == "-Tsvg -o\ndigraph { dot }\n"


def test_without_graphviz_it_says_what_to_install(daemon: FakeDaemon, tmp_path: Path) -> None:
    done = podium(
        *(graph_daemon(daemon), "recipe", "graph", "fix-it", "--output", "a.png"),
        cwd=tmp_path,
        settings={"PATH": str(tmp_path)},
    )

    assert done.returncode == 1
    assert "install the package 'graphviz'" in done.stderr
    assert not (tmp_path / "a.png").exists()


def test_what_graphviz_complains_of_is_told(daemon: FakeDaemon, tmp_path: Path) -> None:
    settings = fake_dot(tmp_path, "echo 'syntax error' >&2; exit 1")

    done = podium(
        *(graph_daemon(daemon), "recipe", "graph", "fix-it", "--output", "a.pdf"),
        cwd=tmp_path,
        settings=settings,
    )

    assert (done.returncode, done.stderr) == (
        *(1, "podium: Graphviz ('dot') could not draw a.pdf: syntax error.\n"),
    )


def test_graphviz_does_not_draw_mermaid(daemon: FakeDaemon) -> None:
    done = podium(daemon, "recipe", "graph", "fix-it", "--format", "mermaid", "--output", "a.svg")

    assert (done.returncode, daemon.calls) == (2, [])
    assert "leave '--format mermaid' away" in done.stderr


# sim


def test_outcomes_are_walked_to_the_exit(daemon: FakeDaemon) -> None:
    daemon.answers["recipes.simulate"] = {"trace": HOPS, "exit": COMMITTED, "unused": ["other"]}
    command = ("recipe", "sim", "fix-it", "--outcomes", "complete, committed,other")

    done = podium(daemon, *command, "--cwd", "/tmp")

    assert done.returncode == 0
    assert done.stdout == (
        "fix     complete  → commit\n"
        "commit  committed\n"
        "✓ Task implementation committed successfully (changes-committed)\n"
    )
    assert done.stderr == "Not used: other.\n"
    outcomes = ["complete", "committed", "other"]
    assert daemon.calls[0][1] == {
        "id": "fix-it",
        "outcomes": outcomes,
        "working_directory": "/tmp",
    }
    assert json.loads(podium(daemon, *command, "--json").stdout)["exit"] == COMMITTED


@pytest.mark.parametrize(("outcomes", "listed"), [("complete", ["complete"]), ("", [])])
def test_too_few_outcomes_end_nowhere(daemon: FakeDaemon, outcomes: str, listed: list[str]) -> None:
    daemon.answers["recipes.simulate"] = {"trace": HOPS[: len(listed)], "exit": None}

    done = podium(daemon, "recipe", "sim", "fix-it", "--outcomes", outcomes)

    assert done.returncode == 0
    assert done.stdout.endswith("… the outcomes end here, the recipe does not\n")
    assert daemon.calls[0][1]["outcomes"] == listed


def test_an_impossible_outcome_is_an_error_that_names_the_possible_ones(
    daemon: FakeDaemon,
) -> None:
    def refuse(params: Json) -> None:
        said = "Invalid params: outcome 1: step 'fix' cannot end with 'x'; expected one of: a, b"
        raise Refused(-32602, said, {"parameter": "outcomes"})

    daemon.answers["recipes.simulate"] = refuse

    done = podium(daemon, "recipe", "sim", "fix-it", "--outcomes", "x")

    assert (done.returncode, done.stderr) == (
        *(1, "podium: Outcome 1: step 'fix' cannot end with 'x'; expected one of: a, b.\n"),
    )


def test_paths_are_listed_by_where_they_end(daemon: FakeDaemon) -> None:
    stuck = [{"step": "fix", "outcome": "blocked", "to": None}]
    again = [HOPS[0], {"step": "commit", "outcome": "more", "to": "@restart"}]
    answer = {
        "paths": [
            {"trace": HOPS, "exit": COMMITTED},
            {"trace": stuck, "exit": STUCK},
            {"trace": again, "exit": None},
            {"trace": HOPS[1:], "exit": COMMITTED},
        ],
        "complete": False,
    }
    daemon.answers["recipes.paths"] = answer

    done = podium(daemon, "recipe", "sim", "fix-it", "--paths", "--cwd", "/tmp")

    assert daemon.calls == [("recipes.paths", {"id": "fix-it", "working_directory": "/tmp"})]
    assert done.stdout == (
        "✓ changes-committed (completed)\n"
        "  fix ─complete→ commit ─committed→\n"
        "  commit ─committed→\n"
        "\n"
        "⚠ implementation-blocked (blocked)\n"
        "  fix ─blocked→\n"
        "\n"
        "⟲ begins again (@restart)\n"
        "  fix ─complete→ commit ─more→\n"
    )
    assert done.stderr == "There are more: only 4 paths shown.\n"
    assert json.loads(podium(daemon, "recipe", "sim", "fix-it", "--paths", "--json").stdout) == (
        answer
    )


REJECTED = {"ok": False, "error": "no-json", "message": "it holds no JSON object", "excerpt": "Hm"}
ACCEPTED = {"ok": True, "outcome": "other", "description": "no disk", "source": "text"}


def rehearse(daemon: FakeDaemon, script: str, *options: str, **answer: Any) -> tuple[int, str, str]:
    daemon.answers["recipes.rehearse"] = {"outcome": None, "to": None, "exit": None, **answer}
    command = ("recipe", "sim", "fix-it", "--step", "fix", "--script", "-", *options)
    done = podium(daemon, *command, stdin=script.encode())
    return done.returncode, done.stdout, done.stderr


def test_a_step_is_played_with_the_replies_of_a_script(daemon: FakeDaemon) -> None:
    code, out, err = rehearse(
        daemon,
        'Hm\n---\n\nDone:\n\n{"outcome": "other"}\n--- \nMore.\n',
        replies=[REJECTED, {**ACCEPTED, "repaired": True}],
        outcome="other",
        exit=STUCK,
        unused=1,
    )

    assert daemon.calls[0][1]["replies"] == ["Hm", 'Done:\n\n{"outcome": "other"}', "More."]
    assert (daemon.calls[0][1]["id"], daemon.calls[0][1]["step"]) == ("fix-it", "fix")
    assert (code, err) == (0, "Replies not used, the step was over before: 1.\n")
    assert out == (
        "reply 1  ✗ no-json: it holds no JSON object.\n"
        "reply 2  ✓ other: no disk (text, repaired)\n"
        "⚠ Implementation blocked - cannot proceed (implementation-blocked)\n"
    )


def test_a_played_step_tells_the_next_one(daemon: FakeDaemon) -> None:
    accepted = {**ACCEPTED, "outcome": "complete", "description": None, "repaired": False}

    assert rehearse(daemon, "x", replies=[accepted], outcome="complete", to="commit", unused=0) == (
        0,
        "reply 1  ✓ complete (text)\n→ commit\n",
        "",
    )


def test_replies_that_decide_nothing_are_exit_code_1(daemon: FakeDaemon) -> None:
    code, out, _ = rehearse(daemon, "Hm", replies=[REJECTED])
    as_json = rehearse(daemon, "Hm", "--json", replies=[REJECTED])

    assert (code, out.splitlines()[-1]) == (
        *(1, "… the replies end here, the step is asked again"),
    )
    assert (as_json[0], json.loads(as_json[1])["replies"]) == (1, [REJECTED])


def test_a_script_is_read_from_a_file(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.answers["recipes.rehearse"] = {"replies": [], "outcome": "complete", "to": "commit"}
    (tmp_path / "script.txt").write_text("a\n---\nb")
    script = ("--step", "fix", "--script", str(tmp_path / "script.txt"))

    assert podium(daemon, "recipe", "sim", "fix-it", *script).returncode == 0
    assert daemon.calls[0][1]["replies"] == ["a", "b"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--paths", "--outcomes", "a"],
        ["--step", "fix"],
        ["--script", "a.txt"],
        ["--paths", "--step", "fix", "--script", "a.txt"],
    ],
    ids=" ".join,
)
def test_exactly_one_thing_is_simulated(daemon: FakeDaemon, options: list[str]) -> None:
    done = podium(daemon, "recipe", "sim", "fix-it", *options)

    assert (done.returncode, daemon.calls) == (2, [])
    assert done.stderr.startswith("podium: Say what to simulate")
