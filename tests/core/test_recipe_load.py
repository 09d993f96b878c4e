"""Loading a recipe: the format's sample loads, and every fault is named with its place."""

from __future__ import annotations

import re

import pytest

from podiumd.core.findings import dotted
from podiumd.core.recipe.load import Finding, RecipeInvalid, load_recipe
from podiumd.core.recipe.model import Check, Edge, Hook, Limits, Param, Recipe

SAMPLE = """format = 1
id = "ship-a-fix"
label = "Ship a fix"
description = "Fix one thing, review it, commit"
initial = "fix"

[params.issue]
type = "string"

[limits]
max_step_visits = 3
max_total_steps = 7
max_minutes = 120
max_cost_usd = 15.0
max_retries = 3
max_restarts = 20
on_limit = "exit"

[steps.fix]
prompt = "Fix {{issue}}. Do not commit. {{last.review.detail}}"
checks = [{ run = ["make", "test"], timeout_seconds = 600 }]
[steps.fix.on]
complete      = { to = "review" }
checks-failed = { to = "fix" }

[steps.review]
session = "fresh"
agent = "claude"
tools = "read-only"
allow = ["Bash", "Edit", "Write"]
permission_mode = "default"
timeout_minutes = 30
prompt_file = "review.md"
outcomes = ["no-issues", "issues-found"]
[steps.review.on]
no-issues    = { to = "commit" }
issues-found = { to = "fix" }

[steps.commit]
gate = "Commit?"
commits = true
irreversible = true
prompt = "Commit the changes."
[steps.commit.on]
committed         = { exit = "changes-committed" }
nothing-to-commit = { exit = "no-changes-to-commit", class = "completed", message = "..." }
"""

KINDS = """format = 1
id = "kinds"
initial = "talk"
[params.level]
type = "choice"
choices = ["low", "high"]
default = "low"
[params.count]
type = "integer"
default = 3
description = "how many"
[params.dry]
type = "boolean"
default = false
[context]
goal = ""
agents = []
[steps.talk]
talk = true
system = "You design {{level}}."
opening = "What is the goal?"
auto = true
tools = ["Read", "mcp__podium__transition"]
on = { ready = { to = "build", requires = ["goal"] }, stop = { exit = "user-requested" } }
[[steps.talk.hooks]]
event = "before-tool"
match = "Bash"
run = ["./guard"]
[steps.build]
run = ["make", "-j{{count}}", "{{ctx.goal}}"]
timeout_minutes = 2.5
on = { passed = { to = "ask" }, failed = { to = "talk" } }
[steps.ask]
ask = "Go on with {{level}}?"
on = { yes = { to = "pick" } }
[steps.pick]
ask = "Which?"
choices = ["one", "two"]
on = { one = { to = "call" }, two = { to = "@restart" } }
[steps.call]
recipe = "other-recipe"
params = { task = "{{ctx.goal}}", deep = true }
on = { changes-committed = { to = "shell" }, other = { exit = "gave-up", class = "blocked" } }
[steps.shell]
shell = "make | tee '{{.Names}}'"
gate = "Sure?"
[steps.shell.on]
passed = { exit = "turn-complete" }
failed = { exit = "broken", class = "error" }
declined = { to = "talk" }
"""


def _load(text: str, **prompts: str) -> Recipe:
    def read_prompt(name: str) -> str:
        if name not in prompts:
            raise FileNotFoundError(2, "No such file or directory")
        return prompts[name]

    return load_recipe(text, file="r.toml", read_prompt=read_prompt)


def _sample(text: str = SAMPLE, review: str = "Review it.") -> Recipe:
    return _load(text, **{"review.md": review})


def _faults(text: str) -> list[Finding]:
    with pytest.raises(RecipeInvalid) as caught:
        _sample(text)
    return list(caught.value.findings)


def test_the_sample_of_the_format_loads() -> None:
    recipe = _sample()
    assert (recipe.id, recipe.label, recipe.initial) == ("ship-a-fix", "Ship a fix", "fix")
    assert recipe.limits == Limits(
        max_step_visits=3, max_total_steps=7, max_minutes=120, max_cost_usd=15.0
    )
    assert recipe.params == {"issue": Param(type="string")}
    assert list(recipe.steps) == ["fix", "review", "commit"]
    fix, review, commit = recipe.steps.values()
    assert fix.outcomes == ("complete",)
    assert fix.checks == (Check(run=("make", "test"), timeout_seconds=600),)
    assert fix.on["checks-failed"] == Edge(to="fix")
    assert (review.prompt, review.session, review.tools) == ("Review it.", "fresh", "read-only")
    assert (review.allow, review.timeout_minutes) == (("Bash", "Edit", "Write"), 30)
    assert (commit.gate, commit.commits, commit.irreversible) == ("Commit?", True, True)
    assert commit.on["nothing-to-commit"] == Edge(
        exit="no-changes-to-commit", class_="completed", message="...", claims="clean"
    )


def test_every_kind_of_step_is_read_as_data() -> None:
    recipe = _load(KINDS)
    kinds = [step.kind for step in recipe.steps.values()]
    assert kinds == ["talk", "command", "gate", "gate", "call", "command"]
    talk, build, ask, pick, call, shell = recipe.steps.values()
    assert talk.hooks == (Hook(event="before-tool", match="Bash", run=("./guard",)),)
    assert (talk.auto, talk.outcomes) == (True, ("ready", "stop"))
    assert talk.tools == ("Read", "mcp__podium__transition")
    assert talk.on["ready"].requires == ("goal",)
    assert (build.outcomes, build.timeout_minutes) == (("passed", "failed"), 2.5)
    assert (ask.choices, pick.choices) == (("yes", "no"), ("one", "two"))
    assert call.params == {"task": "{{ctx.goal}}", "deep": True}
    assert call.outcomes == ("changes-committed", "other")
    assert shell.shell == "make | tee '{{.Names}}'"
    assert recipe.context == {"goal": "", "agents": []}
    assert recipe.label == "kinds"
    assert recipe.limits == Limits()
    assert [param.default for param in recipe.params.values()] == ["low", 3, False]


def test_the_digest_covers_the_recipe_and_its_prompt_files() -> None:
    digests = {
        _sample().digest,
        _sample(SAMPLE + "\n").digest,
        _sample(review="Review it well.").digest,
    }
    assert len(digests) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    assert _sample().digest == _sample().digest


def test_carriage_returns_do_not_move_the_lines() -> None:
    text = SAMPLE.replace('session = "fresh"', 'sesion = "fresh"').replace("\n", "\r\n")
    assert [(f.code, f.line) for f in _faults(text)] == [("unknown-key", 27)]


# (text replaced, its replacement, code, step, line, words of the message)
FAULTS: list[tuple[str, str, str, str | None, int, str]] = [
    ("format = 1", "format 1", "syntax", None, 1, "Expected '='"),
    ("format = 1", "format = 1\nx = [", "syntax", None, 3, "TOML"),
    ('message = "..." }', 'message = "...', "syntax", None, 46, "TOML"),
    ("format = 1", "format = 2", "bad-format", None, 1, "format = 1"),
    ("format = 1", 'format = "1"', "bad-format", None, 1, "format = 1"),
    ("format = 1", "format = true", "bad-format", None, 1, "format = 1"),
    ("format = 1\n", "", "missing-key", None, 1, "'format'"),
    ('id = "ship-a-fix"\n', "", "missing-key", None, 1, "'id'"),
    ('initial = "fix"\n', "", "missing-key", None, 1, "'initial'"),
    ('type = "string"', "", "missing-key", None, 7, "'type'"),
    ("run = [", "ruin = [", "missing-key", "fix", 21, "'run'"),
    ('prompt = "Commit the changes."', "", "missing-key", "commit", 39, "prompt_file"),
    ("label =", "lable =", "unknown-key", None, 3, "'label'"),
    ('session = "fresh"', 'sesion = "fresh"', "unknown-key", "review", 27, "'session'"),
    ("on_limit", "on_limits", "unknown-key", None, 17, "'on_limit'"),
    ('{ to = "commit" }', '{ too = "commit" }', "unknown-key", "review", 36, "'to'"),
    ("timeout_seconds", "timeout", "unknown-key", "fix", 21, "'timeout_seconds'"),
    ('gate = "Commit?"', 'gaet = "Commit?"', "unknown-key", "commit", 40, "'gate'"),
    ("max_step_visits = 3", "max_step_visits = 0", "bad-value", None, 11, "is 0"),
    ("max_step_visits = 3", "max_step_visits = -1", "bad-value", None, 11, "is -1"),
    ("max_step_visits = 3", "max_step_visits = true", "bad-value", None, 11, "is true"),
    ("max_step_visits = 3", "max_step_visits = 3.0", "bad-value", None, 11, "whole number"),
    ("max_step_visits = 3", "max_step_visits = []", "bad-value", None, 11, "a list"),
    ("max_step_visits = 3", "max_step_visits = {}", "bad-value", None, 11, "a table"),
    ("max_total_steps = 7", f"max_total_steps = {10**40}", "bad-value", None, 12, "too large"),
    ("max_minutes = 120", "max_minutes = inf", "bad-value", None, 13, "is inf"),
    ("max_minutes = 120", "max_minutes = nan", "bad-value", None, 13, "is nan"),
    ("max_minutes = 120", 'max_minutes = "2h"', "bad-value", None, 13, '"2h"'),
    ("max_cost_usd = 15.0", "max_cost_usd = 0.0", "bad-value", None, 14, "above 0"),
    ("max_retries = 3", "max_retries = 0", "bad-value", None, 15, "is 0"),
    ('on_limit = "exit"', 'on_limit = "stop"', "bad-value", None, 17, '"ask"'),
    ("timeout_seconds = 600", "timeout_seconds = -600", "bad-value", "fix", 21, "checks[0]"),
    ('"make", "test"]', "]", "bad-value", "fix", 21, "program"),
    ("checks = [{", "checks = [3, {", "bad-value", "fix", 21, "list of tables"),
    ('session = "fresh"', 'session = "new"', "bad-value", "review", 27, '"fork"'),
    ('"read-only"', '"few"', "bad-value", "review", 29, "tool names"),
    ('allow = ["Bash", ', "allow = [1, ", "bad-value", "review", 30, "list of texts"),
    ("commits = true", 'commits = "yes"', "bad-value", "commit", 41, "true or false"),
    ('"review.md"', '"missing.md"', "bad-value", "review", 33, "No such file"),
    ('gate = "Commit?"', 'gate = " "', "bad-value", "commit", 40, "not empty"),
    ('"..." }', f'"{"x" * 99}" , exit = 1 }}', "syntax", None, 46, "TOML"),
    ('"no-issues", "issues-found"]', '"a", "a"]', "bad-value", "review", 34, "different"),
    ('class = "completed"', 'class = "cancelled"', "bad-value", "commit", 46, '"blocked"'),
    (
        '{ to = "fix" }\n\n[steps.commit',
        '"fix"\n\n[steps.commit',
        "bad-value",
        "review",
        37,
        "table",
    ),
    ('id = "ship-a-fix"', 'id = "Ship_It"', "bad-name", None, 2, "Ship_It"),
    ("[params.issue]", '[params."an issue"]', "bad-name", None, 7, "an issue"),
    ("[params.issue]", '[params."1"]', "bad-name", None, 7, "letter"),
    ('initial = "fix"', 'initial = "fx"', "bad-initial", None, 5, "'fix'"),
    ('{ to = "commit" }', '{ to = "comit" }', "unknown-target", "review", 36, "'commit'"),
    ('no-issues    = { to = "commit" }', "", "unhandled-outcome", "review", 26, "'no-issues'"),
    ("issues-found = {", "issue-found = {", "dead-handler", "review", 37, "'issues-found'"),
    (
        "checks = [{ run = ",
        "# checks = [{ run = ",
        "dead-handler",
        "fix",
        24,
        "add 'checks'",
    ),
    (
        'complete      = { to = "review" }',
        'declined = { to = "fix" }\ncomplete = { to = "review" }',
        "dead-handler",
        "fix",
        23,
        "add 'gate'",
    ),
    ("{{issue}}", "{{isue}}", "unknown-variable", "fix", 20, "'issue'"),
    (
        "last.review.detail",
        "last.reviw.detail",
        "unknown-variable",
        "fix",
        20,
        "last.review.detail",
    ),
    ("last.review.detail", "last.review", "unknown-variable", "fix", 20, "last.review.detail"),
    ('["make", "test"]', '["make", "{{t}}"]', "unknown-variable", "fix", 21, "'{{t}}'"),
    ('"Commit?"', '"Commit {{t}}?"', "unknown-variable", "commit", 40, "'{{t}}'"),
    ('exit = "changes-committed"', 'exit = "shipped"', "unclassified-exit", "commit", 45, "class"),
    ('exit = "changes-committed"', 'exit = "Shipped!"', "bad-name", "commit", 45, "Shipped!"),
    (
        'exit = "changes-committed"',
        'exit = "max-minutes"',
        "reserved-reason",
        "commit",
        45,
        "daemon",
    ),
    (
        'exit = "changes-committed"',
        'exit = "max-step-visits-exceeded:fix", class = "completed"',
        "reserved-reason",
        "commit",
        45,
        "daemon",
    ),
    ('exit = "changes-committed"', 'message = "x"', "missing-key", "commit", 45, "leads nowhere"),
    (
        '{ to = "commit" }',
        '{ to = "commit", class = "error" }',
        "bad-value",
        "review",
        36,
        "no exit",
    ),
    (
        '{ to = "commit" }',
        '{ to = "commit", exit = "error" }',
        "bad-value",
        "review",
        36,
        "no exit",
    ),
    (
        'prompt = "Commit the changes."',
        'prompt = "a"\nask = "b"',
        "bad-value",
        "commit",
        44,
        "'prompt'",
    ),
    (SAMPLE[SAMPLE.index("[steps.fix]") :], "", "missing-key", None, 1, "[steps.NAME]"),
    ('[params.issue]\ntype = "string"', "params = 3", "bad-value", None, 7, "a table"),
]


@pytest.mark.parametrize(("old", "new", "code", "step", "line", "words"), FAULTS)
def test_a_fault_is_named_with_its_place(
    old: str, new: str, code: str, step: str | None, line: int, words: str
) -> None:
    assert SAMPLE.count(old) >= 1
    faults = _faults(SAMPLE.replace(old, new, 1))
    matching = [f for f in faults if (f.code, f.step, f.line) == (code, step, line)]
    assert matching, faults
    assert any(words in f.message for f in matching), matching
    assert all(f.level == "error" and f.file == "r.toml" for f in faults)


# The same for what the sample does not have.
KIND_FAULTS: list[tuple[str, str, str, str]] = [
    ("passed = { to", "succeeded = { to", "unhandled-outcome", "passed"),
    ("on = { passed", "outcomes = []\non = { passed", "unknown-key", "outcomes"),
    ('one = { to = "call" }, ', "", "unhandled-outcome", "one"),
    ('["one", "two"]', '["one", 2]', "bad-value", "different names"),
    ("yes = { to", "maybe = { to", "dead-handler", "maybe"),
    ("talk = true", "talk = false", "bad-value", "expected true"),
    ('requires = ["goal"]', 'requires = ["gaol"]', "unknown-variable", "goal"),
    ('requires = ["goal"]', 'require = ["goal"]', "unknown-key", "requires"),
    ('event = "before-tool"', 'event = "before"', "bad-value", "turn-end"),
    ('event = "before-tool"\n', "", "missing-key", "event"),
    ("deep = true", "deep = 1.5", "bad-value", "whole number"),
    ("{{.Names}}", "{{level}}", "bad-value", "run = [...]"),
    ('{{ctx.goal}}", deep', '{{ctx.gaol}}", deep', "unknown-variable", "ctx.goal"),
    ("agents = []", "agents = 1979-05-27", "bad-value", "context.agents"),
    ("agents = []", "agents" + ".a" * 20 + " = 1", "bad-value", "context.agents"),
    ("agents = []", '"a b" = []', "bad-name", "a b"),
    ('choices = ["low", "high"]\n', "", "missing-key", "choices"),
    ('choices = ["low", "high"]', "choices = []", "bad-value", "at least one"),
    ('default = "low"', 'default = "mid"', "bad-value", "low, high"),
    ("default = 3", 'default = "3"', "bad-value", "a whole number"),
    ("default = 3", 'default = 3\nchoices = ["a"]', "bad-value", "only a parameter"),
    ("default = false", 'default = "false"', "bad-value", "true or false"),
    ("[steps.call]", "[steps.Call]", "bad-name", "Call"),
    ('two = { to = "@restart" }', 'Two = { to = "@restart" }', "bad-name", "Two"),
    ("[steps.call]\n", "[steps]\nempty = 3\n[steps.call]\n", "bad-value", "steps.empty"),
]


@pytest.mark.parametrize(("old", "new", "code", "words"), KIND_FAULTS)
def test_a_fault_in_any_kind_of_step_is_named(old: str, new: str, code: str, words: str) -> None:
    assert old in KINDS
    with pytest.raises(RecipeInvalid) as caught:
        _load(KINDS.replace(old, new, 1))
    assert any(f.code == code and words in f.message for f in caught.value.findings), (
        caught.value.findings
    )


def test_all_faults_are_found_at_once_in_the_order_of_the_file() -> None:
    text = SAMPLE.replace("label", "lable").replace("max_minutes = 120", "max_minutes = 0")
    faults = _faults(text.replace('to = "commit"', 'to = "comit"'))
    assert [f.code for f in faults] == ["unknown-key", "bad-value", "unknown-target"]


def test_the_error_carries_the_id_and_says_everything() -> None:
    with pytest.raises(RecipeInvalid, match=r"r\.toml:5: bad-initial: .*'fx'") as caught:
        _sample(SAMPLE.replace('initial = "fix"', 'initial = "fx"'))
    assert caught.value.id == "ship-a-fix"


def test_a_step_without_outcomes_is_asked_for_them() -> None:
    faults = _faults('format = 1\nid = "x"\ninitial = "a"\n[steps.a]\nprompt = "p"\n')
    assert [(f.code, f.step, f.line) for f in faults] == [("missing-key", "a", 4)]


def test_a_variable_in_a_prompt_file_is_placed_in_that_file() -> None:
    with pytest.raises(RecipeInvalid) as caught:
        _sample(review="Review.\n\nLook at {{isue}}.")
    (fault,) = caught.value.findings
    assert (fault.file, fault.line, fault.step) == ("review.md", 3, "review")


def test_a_variable_in_a_prompt_of_many_lines_is_placed_on_its_line() -> None:
    faults = _faults(SAMPLE.replace('"Commit the changes."', '"""\nCommit\n{{isue}}."""'))
    assert [f.line for f in faults] == [45]


@pytest.mark.parametrize("content", ["", " \n", "a\0b"])
def test_a_prompt_file_must_hold_a_prompt(content: str) -> None:
    with pytest.raises(RecipeInvalid) as caught:
        _sample(review=content)
    assert [f.code for f in caught.value.findings] == ["bad-value"]


def test_a_prompt_file_is_read_once() -> None:
    text = SAMPLE.replace('prompt = "Commit the changes."', 'prompt_file = "review.md"')
    recipe = _sample(text)
    assert recipe.steps["commit"].prompt == recipe.steps["review"].prompt


def test_endless_nesting_is_a_syntax_error() -> None:
    faults = _faults("a = " + "[" * 100_000)
    assert [f.code for f in faults] == ["syntax"]


def test_no_recipe_at_all_is_told_what_it_needs() -> None:
    assert {f.code for f in _faults("")} == {"missing-key"}
    assert len(_faults("")) == 4


def test_a_path_is_written_as_in_the_file() -> None:
    assert dotted(("steps", "fix", "checks", 0, "run")) == "steps.fix.checks[0].run"
