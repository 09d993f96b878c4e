"""The recipes that ship: sound, complete, able to end with nobody answering, and as promised."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from podiumd.core.analysis.check import check_text
from podiumd.core.recipe.exits import ExitClass, is_reserved
from podiumd.core.recipe.model import CHECKS_FAILED, RESTART, Recipe, Step
from podiumd.core.recipe.params import bind_params
from podiumd.core.recipe.parts import agents_of, given_out
from podiumd.core.recipe.paths import SimplePath, simple_paths
from podiumd.core.recipe.template import variables
from podiumd.core.reply.outcome import outcome_block
from podiumd.core.run import facts as f
from tests.core.builders import Play

RECIPES: Final = Path(__file__).parents[2] / "recipes"

OTHER: Final[dict[str, ExitClass]] = {"user-provided-other": "needs-user"}
EXITS: Final[dict[str, dict[str, ExitClass]]] = {
    "break-down-tasks": {
        "clarification-needed": "needs-user",
        "no-changes-to-commit": "completed",
        "no-design-document-found": "blocked",
        "tasks-committed": "completed",
        **OTHER,
    },
    "cross-review": {
        "changes-committed": "completed",
        "clarification-needed": "needs-user",
        "implementation-blocked": "blocked",
        "no-changes-to-commit": "completed",
        "no-tasks-available": "completed",
        **OTHER,
    },
    "document-design": {
        "clarification-needed": "needs-user",
        "design-committed": "completed",
        "no-changes-to-commit": "completed",
        **OTHER,
    },
    "implement-and-review": {
        "changes-committed": "completed",
        "implementation-blocked": "blocked",
        "no-changes-to-commit": "completed",
        "no-tasks-available": "completed",
        **OTHER,
    },
    "implement-and-review-all": {
        "implementation-blocked": "blocked",
        "no-changes-to-commit": "needs-user",
        "no-tasks-available": "completed",
        **OTHER,
    },
    "plan-execute-verify": {
        "changes-committed": "completed",
        "clarification-needed": "needs-user",
        "implementation-blocked": "blocked",
        "no-changes-to-commit": "completed",
        **OTHER,
    },
    "rebase": {
        "clarification-needed": "needs-user",
        "conflicts-require-human-intervention": "blocked",
        "rebase-complete": "completed",
        **OTHER,
    },
    "refine-design": {
        "design-document-not-found": "blocked",
        "design-refined-and-committed": "completed",
        "no-changes-made": "completed",
        **OTHER,
    },
    "retrospective": {"retrospective-complete": "completed", **OTHER},
    "review-and-commit": {
        "changes-committed": "completed",
        "no-changes-to-commit": "completed",
        **OTHER,
    },
}
"""Every reason with which a recipe itself may end, and its class."""

CONVERSATIONS: Final = {"guided-design"}  # these need a person: see ``test_guided_design``
# The shortest way to success: the outcomes of the steps on it.
STRAIGHT: Final = {
    "break-down-tasks": "complete complete complete no-issues committed",
    "cross-review": "complete passed no-issues passing committed",
    "document-design": "complete no-issues committed",
    "implement-and-review": "complete no-issues committed",
    "plan-execute-verify": "ready complete achieved committed",
    "rebase": "complete no-issues done",
    "refine-design": "found" + " no-issues" * 6 + " committed",
    "retrospective": "complete",
    "review-and-commit": "no-issues committed",
}

NAMES_OF_OTHERS: Final = re.compile(
    r"\b(claude|anthropic|openai|chatgpt|gpt|codex|gemini|copilot|cursor|github|gitlab|sonnet|opus|"
    r"haiku|Bash|Grep|Glob|WebFetch|WebSearch|TodoWrite|NotebookEdit|MultiEdit|AskUserQuestion|"
    r"ExitPlanMode|StructuredOutput|(Read|Write|Edit|Task|Agent) tool|subagents?|sub-agents?)\b"
)
HARMLESS: Final = re.compile(
    r"Change (no file|nothing)|change nothing|Do not change it|[Dd]o not (commit and do not )?push|"
    r"Never push|push nothing"
)


def _text(name: str) -> str:
    return (RECIPES / name).read_text(encoding="utf-8")


@functools.cache
def _load(id_: str) -> Recipe:
    result = check_text(_text(f"{id_}.toml"), file=id_, read_prompt=_text)
    assert result.recipe is not None
    return result.recipe


def _play(recipe: Recipe) -> Play:
    """Start it as a person does who gives no parameter."""
    params = bind_params(recipe, {})
    agents = agents_of(recipe, params, "claude")
    return Play(given_out(recipe, agents, "claude", "claude"), params={**params, **agents})


def answer(play: Play, outcome: str) -> None:
    """The agent answers the step, and its checks pass; ``checks-failed``: the first one fails. A
    command ends as ``passed`` or not."""
    step = play.go().state.current
    assert step is not None
    if step.kind == "command":
        play.ran(passed=outcome == "passed")
        return
    play.say(next(iter(step.on)) if outcome == CHECKS_FAILED else outcome)
    while play.state.next is not None and play.state.next.kind == "check":
        play.check(passed=outcome != CHECKS_FAILED)


def _steps() -> Iterator[tuple[str, str, Step]]:
    for id_ in EXITS:
        for name, step in _load(id_).steps.items():
            yield id_, name, step


def _prompting(id_: str) -> Iterator[tuple[str, Step]]:
    """The steps that prompt an agent."""
    found = ((name, step) for name, step in _load(id_).steps.items() if step.kind == "turn")
    yield from found


def _paths() -> Iterator[tuple[str, SimplePath]]:
    for id_ in EXITS:
        found = simple_paths(_load(id_))
        assert found.complete
        for path in found.paths:
            yield id_, path


PATHS: Final = list(_paths())
each = pytest.mark.parametrize("id_", EXITS)


def test_what_ships_is_what_this_test_knows() -> None:
    assert {path.stem for path in RECIPES.glob("*.toml")} == EXITS.keys() | CONVERSATIONS


@each
def test_it_checks_without_an_error_or_a_warning_and_its_worst_case_is_bounded(id_: str) -> None:
    result = check_text(_text(f"{id_}.toml"), file=id_, read_prompt=_text)
    assert result.findings == () and result.recipe is not None
    assert result.recipe.id == id_
    assert result.worst_case is not None
    assert result.worst_case.turns is not None and result.worst_case.minutes is not None


@each
def test_its_name_and_description_fit_a_line_of_a_list_and_a_phone(id_: str) -> None:
    recipe = _load(id_)
    assert recipe.label.replace("&", "and").lower().replace(" ", "-") == id_
    assert 20 <= len(recipe.description) <= 90
    assert recipe.description[0].isupper() and recipe.description[-1].isalnum()


def test_every_prompt_file_belongs_to_a_step() -> None:
    named = {match for id_ in EXITS for match in re.findall(r'"(.+\.md)"', _text(f"{id_}.toml"))}
    assert named == {str(path.relative_to(RECIPES)) for path in RECIPES.rglob("*.md")}


@each
def test_it_can_be_started_without_parameters_and_says_what_each_is_for(id_: str) -> None:
    for param in _load(id_).params.values():
        assert param.default is not None and param.description


@each
def test_it_ends_with_the_promised_reasons_and_says_the_class_of_each(id_: str) -> None:
    edges = [edge for step in _load(id_).steps.values() for edge in step.on.values()]
    exits = [edge for edge in edges if edge.exit is not None]
    assert all(edge.class_ is not None for edge in exits), "a reader need not know the table"
    assert {edge.exit: edge.class_ for edge in exits} == EXITS[id_]
    assert not any(is_reserved(edge.exit or "") for edge in exits)
    said = [edge.message for edge in exits if edge.message is not None]
    assert all(len(message) <= 80 and message[-1].isalnum() for message in said)


@each
def test_each_simple_path_ends_as_promised_and_they_reach_every_exit(id_: str) -> None:
    recipe, reached = _load(id_), set()
    for path in (path for of, path in PATHS if of == id_):
        play = _play(recipe)
        for hop in path.trace:
            assert play.go().state.step == hop.step, path.trace
            answer(play, hop.outcome)
        end = play.state.exit
        if end is None:
            assert path.exit is None and path.trace[-1].to == RESTART
            play.begin()
            assert (play.state.step, play.state.restart) == (recipe.initial, 1)
            continue
        assert replace(end, detail=None) == path.exit
        assert EXITS[id_][end.reason] == end.class_
        assert end.category == "completed", "no path of a built-in recipe is an error"
        assert not end.message.startswith("Completed: "), "a sentence, not only the reason"
        reached.add(end.reason)
    assert reached == EXITS[id_].keys()


@pytest.mark.parametrize(("id_", "outcomes"), STRAIGHT.items())
def test_the_straight_way_leads_to_success(id_: str, outcomes: str) -> None:
    play = _play(_load(id_))
    for outcome in outcomes.split():
        answer(play, outcome)
    assert play.state.exit is not None and play.state.exit.class_ == "completed"
    assert play.reason.rpartition("-")[2] in ("committed", "complete")


@each
def test_with_nobody_answering_no_step_waits_for_a_person(id_: str) -> None:
    recipe = _load(id_)
    assert recipe.limits.on_limit == "exit"
    assert {step.kind for step in recipe.steps.values()} <= {"turn", "command"}
    for _, step in _prompting(id_):
        assert (step.gate, step.irreversible) == (None, False)
        assert (step.model, step.permission_mode) == (None, None)
        assert (step.agent is not None) == (id_ == "cross-review")
        unasked = () if step.tools == "read-only" else ("Bash", "Edit", "Write")
        assert step.allow == unasked


def test_a_retrospective_can_only_read() -> None:
    steps = _load("retrospective").steps.values()
    assert [(step.tools, step.allow) for step in steps] == [("read-only", ())]


def test_only_recipes_that_need_a_clean_tree_ask_on_a_dirty_one() -> None:
    asking = set()
    for id_ in EXITS:
        play = _play(_load(id_)).go(dirty=("a.py",))
        if play.state.open_questions:
            asking.add(id_)
            play.answer("no")
            assert play.reason == "gate-declined"
    # What is in the tree is what review-and-commit is for; a retrospective touches nothing.
    assert asking == EXITS.keys() - {"review-and-commit", "retrospective"}


@each
def test_a_review_that_is_never_content_is_stopped_by_a_limit(id_: str) -> None:
    """Whatever would go on does: the run ends all the same, and not as a success."""
    play = _play(_load(id_))
    while play.go().state.exit is None:
        step = play.state.current
        assert step is not None
        goes_on = [name for name, edge in step.on.items() if edge.to is not None]
        answer(play, goes_on[-1] if goes_on else next(iter(step.on)))
    looped = id_ != "retrospective"
    assert play.state.exit is not None
    assert play.state.exit.class_ == ("guardrail" if looped else "completed")


@each
def test_a_prompt_explains_its_outcomes_and_leaves_their_format_to_the_core(id_: str) -> None:
    for name, step in _prompting(id_):
        assert "Your possible outcomes" not in step.prompt and '"outcome"' not in step.prompt, name
        answers = step.prompt.rpartition("\nAnswer\n- `")[2].split("\n- `")
        assert tuple(one.partition("` ")[0] for one in answers) == step.allowed_outcomes, name


@each
def test_each_prompt_that_is_sent_ends_with_the_outcome_block(id_: str) -> None:
    recipe = _load(id_)
    for name, step in _prompting(id_):
        play = _play(replace(recipe, initial=name)).begin()
        sent = play.last(f.TurnIntended).prompt
        assert sent.endswith("\n\n" + outcome_block(step.allowed_outcomes))
        assert "{{" not in sent
        assert sent.partition("\n")[0][-1] in ".:?", "the first line is what a phone shows"


@each
def test_a_prompt_names_no_product_and_says_what_must_not_be_touched(id_: str) -> None:
    """Reading the network is a question to a person, who may not be there."""
    for name, step in _prompting(id_):
        assert NAMES_OF_OTHERS.findall(step.prompt) == [], name
        if step.tools == "read-only":
            assert "fetch nothing" in step.prompt, name
        else:
            assert HARMLESS.search(step.prompt), name


@each
def test_findings_go_to_the_fix_and_its_answers_to_a_reviewer_who_starts_afresh(id_: str) -> None:
    recipe = _load(id_)
    for name, step in recipe.steps.items():
        uses = {variable for variable, _ in variables(step.prompt)}
        found = step.edge("issues-found")
        if found is not None:
            fix = recipe.steps[found.to or ""]
            assert f"{{{{last.{name}.detail}}}}" in fix.prompt
            back = fix.on["complete"].to or ""
            if recipe.steps[back].kind == "command":
                assert f"{{{{last.{back}.detail}}}}" in step.prompt
                back = recipe.steps[back].on["passed"].to or ""
            assert fix.session == "same" and back == name
            assert (f"last.{found.to}.detail" in uses) == (step.session == "fresh")
        if step.session == "fresh":
            assert found is not None or name == "judge", "only who judges others' work forgets"
            assert "this conversation" not in step.prompt.replace("else of this conversation", "")


AUTHOR, CRITIC, JUDGE = "author", "critic", "umpire"


def _crossed() -> Play:
    recipe, parts = _load("cross-review"), (AUTHOR, CRITIC, JUDGE)
    agents = dict(zip(("implementer", "reviewer", "judge"), parts, strict=True))
    return Play(given_out(recipe, agents, AUTHOR, "claude"), params={"task": "Shop", **agents})


def _went(play: Play) -> list[tuple[str | None, str, str]]:
    """The step, agent and session of each turn."""
    turns = play.all(f.TurnIntended)
    sessions = list(dict.fromkeys(turn.session_id for turn in turns))
    return [(turn.step, turn.agent, str(sessions.index(turn.session_id))) for turn in turns]


def test_in_a_cross_review_each_part_is_another_agents_and_only_the_author_remembers() -> None:
    play = _crossed()
    outcomes = "complete passed issues-found disagree upheld complete passed no-issues"
    for outcome in f"{outcomes} repaired passed no-issues passing committed".split():
        answer(play, outcome)
    assert play.reason == "changes-committed"
    assert _went(play) == [
        ("implement", AUTHOR, "0"),
        ("review", CRITIC, "1"),
        ("answer", AUTHOR, "0"),
        ("judge", JUDGE, "2"),
        ("settle", AUTHOR, "0"),
        ("review", CRITIC, "3"),
        ("prove", AUTHOR, "0"),
        ("review", CRITIC, "4"),
        ("prove", AUTHOR, "0"),
        ("commit", AUTHOR, "0"),
    ]


def test_in_a_cross_review_only_the_author_may_change_anything_and_one_step_commits() -> None:
    for step in _load("cross-review").steps.values():
        free = step.agent == "{{implementer}}"
        assert step.kind == "command" or (step.tools == "all") == bool(step.allow) == free
    assert [n for n, step in _load("cross-review").steps.items() if step.commits] == ["commit"]


def test_in_a_cross_review_each_gets_what_the_others_have_said_as_marked_data() -> None:
    play = _crossed()
    texts = {"complete": "ACCOUNT", "issues-found": "FINDING", "disagree": "REASON"}
    for outcome, words in texts.items():
        if outcome == "issues-found":
            play.go()
            play.ran(tail="THE DIFF")
        play.go().say(outcome, words)
    judged = play.begin().turn.prompt
    assert "<findings>\nFINDING\n</findings>" in judged and "<answers>\nREASON" in judged
    assert "ACCOUNT" not in judged and "THE DIFF" not in judged
    play.say("upheld", "RULING")
    assert "<rulings>\nRULING\n</rulings>" in play.begin().turn.prompt
    play.say("complete", "DONE")
    play.go()
    play.ran(tail="THE NEW DIFF")
    again = play.begin().turn.prompt
    for words in ("Shop", "ACCOUNT", "THE NEW DIFF", "FINDING", "REASON", "RULING", "DONE"):
        assert f">\n{words}\n</" in again


def test_a_disagreement_that_only_a_person_can_decide_ends_the_cross_review() -> None:
    play = _crossed()
    for outcome in ("complete", "failed", "issues-found", "disagree", "undecided"):
        answer(play, outcome)
    assert (play.reason, play.state.exit and play.state.exit.class_) == (
        "clarification-needed",
        "needs-user",
    )


def test_the_rounds_of_a_cross_review_are_three() -> None:
    play = _crossed()
    answer(play, "complete")
    for outcome in ("passed", "issues-found", "disagree", "dismissed") * 3:
        answer(play, outcome)
    assert play.go().reason == "max-step-visits-exceeded:changes"


def test_task_after_task_is_done_until_none_is_ready() -> None:
    play = _play(_load("implement-and-review-all"))
    for last in ("committed", "closed"):
        for outcome in ("complete", "issues-found", "complete", "no-issues", last):
            play.say(outcome)
    play.say("no-tasks")
    assert play.reason == "no-tasks-available"
    entered = play.all(f.StepEntered)
    assert [fact.step for fact in entered if fact.visit == 1 and fact.step_count == 1] == (
        ["implement"] * 3
    )
    sessions = {fact.session_id for fact in entered}
    assert len(sessions) == 3, "a conversation for each task"


def test_a_task_that_leaves_nothing_and_stays_on_the_list_is_not_taken_again() -> None:
    play = _play(_load("implement-and-review-all"))
    for outcome in ("complete", "no-issues", "nothing-to-commit"):
        play.say(outcome)
    assert play.state.exit is not None
    assert (play.reason, play.state.exit.class_) == ("no-changes-to-commit", "needs-user")
    assert play.state.restart == 0


def test_a_list_that_never_ends_is_stopped_by_its_restarts() -> None:
    recipe = _load("implement-and-review-all")
    play = _play(recipe)
    while play.state.exit is None:
        for outcome in ("complete", "no-issues", "committed"):
            play.say(outcome)
    assert (play.reason, play.state.exit.category) == ("max-restarts", "guardrail")
    assert len(play.all(f.TurnIntended)) == 3 * (recipe.limits.max_restarts + 1)


def test_all_tasks_are_reviewed_and_fixed_as_one_task_is() -> None:
    one, all_ = _load("implement-and-review"), _load("implement-and-review-all")
    for name in ("code-review", "fix"):
        assert all_.steps[name] == one.steps[name]


def test_a_rebase_left_in_its_middle_is_taken_up_again_whatever_the_agent_says() -> None:
    play = _play(_load("rebase"))
    answer(play, CHECKS_FAILED)
    assert play.go().state.step == "rebase"
    for outcome in ("complete", "issues-found", CHECKS_FAILED):
        answer(play, outcome)
    assert play.go().state.step == "fix"
    for outcome in ("complete", "no-issues", "done"):
        answer(play, outcome)
    assert play.reason == "rebase-complete"
    commands = {fact.run[:2] for fact in play.all(f.CheckEnded)}
    assert commands == {("git", "symbolic-ref"), ("git", "diff")}


def test_a_plan_that_does_not_hold_is_made_anew_by_reading_as_long_as_the_limits_allow() -> None:
    recipe = _load("plan-execute-verify")
    assert recipe.steps["plan"].tools == "read-only" and recipe.steps["verify"].session == "fresh"
    play = _play(recipe)
    for outcome in ("ready", "replan", "ready", "complete", "issues-found", "complete", "replan"):
        answer(play, outcome)
    while play.go().state.exit is None:
        answer(play, "ready" if play.state.step == "plan" else "replan")
    assert play.reason == "max-step-visits-exceeded:execute"


def test_only_a_rebase_has_checks_since_only_git_is_sure_to_be_there() -> None:
    checked = {id_ for id_, _, step in _steps() if step.checks}
    assert checked == {"rebase"}


def test_the_shipped_implement_and_review_is_what_is_promised() -> None:
    recipe = _load("implement-and-review")
    outcomes = {name: step.allowed_outcomes for name, step in recipe.steps.items()}
    assert outcomes == {
        "implement": ("complete", "no-tasks", "blocked", "other"),
        "code-review": ("no-issues", "issues-found", "other"),
        "fix": ("complete", "other"),
        "commit": ("committed", "nothing-to-commit", "other"),
    }
    beginnings = (
        "Implement one task in this repository.",
        "Perform a code review on the task that you just completed.",
        "Address the issues found.",
    )
    for step, beginning in zip(recipe.steps.values(), beginnings, strict=False):
        assert step.prompt.startswith(beginning)
    assert [step.commits for step in recipe.steps.values()] == [False, False, False, True]
    limits = recipe.limits
    assert (limits.max_step_visits, limits.max_total_steps, limits.max_minutes) == (3, 12, 240)
