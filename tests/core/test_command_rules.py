"""Which rule for commands a person is offered, and what such a rule covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.decide.command_rules import covers, offered, only_reads, simple_words


@pytest.mark.parametrize(
    ("command", "begins"),
    [
        ("git diff", "git diff"),
        ("git  diff --stat HEAD~2", "git diff"),
        ("git worktree list --porcelain", "git worktree list"),
        ("npm run build", "npm run build"),
        ("npm test", "npm test"),
        ("docker compose up", "docker compose up"),
        ("pytest -q 'tests/a b.py'", "pytest"),
        ("ls", "ls"),
        ("ruff check .", "ruff"),
        ("rm -rf build", "rm"),
    ],
)
def test_commands_of_a_kind_are_offered_by_their_first_words(command: str, begins: str) -> None:
    rule = offered("Bash", {"command": command})
    assert rule is not None
    assert (rule.begins, rule.text) == (begins, f"Bash({begins}:*)")
    assert covers(rule.begins, command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "git diff; rm -rf ~",
        "git diff && id",
        "git diff | sh",
        "git diff > out",
        "git log `id`",
        "git log $(id)",
        "git diff\nid",
        "git diff 'unfinished",
        "git",
        "git -C elsewhere diff",
        "git npm run",
        "git config core.pager x",
        "git diff --output=/etc/x",
        "git ./x",
        "npm run",
        "npm run ./x",
        "python3 -m x",
        "sudo ls",
        "bash x.sh",
        "env A=1 ls",
        "A=1 make",
        "./run.sh",
        "/bin/ls",
        "l* a",
        "git " + "x" * 200,
    ],
)
def test_what_says_too_little_about_what_follows_is_not_offered(command: str) -> None:
    rule = offered("Bash", {"command": command})
    if command == "git npm run":  # git's own word, whatever it means
        assert rule is not None and rule.begins == "git npm"
    else:
        assert rule is None


def test_only_tools_that_run_commands_have_rules_for_them() -> None:
    assert offered("Write", {"command": "git diff"}) is None
    assert offered("Bash", {"command": ["git", "diff"]}) is None
    native = offered("run_command", {"command": "git diff"})
    assert native is not None and native.text == "run_command(git diff:*)"


@pytest.mark.parametrize(
    ("command", "begins"),
    [
        ("git log -n 3 --oneline", "git log"),
        ("ls -la src", "ls"),
        ("grep -rn word .", "grep"),
        ("make test", "make test"),
        ("pytest -q tests/a", "pytest"),
        ("npm test", "npm test"),
        ("git push", None),
        ("git grep -O./evil x", None),
        ("git diff --output=x", None),
        ("git difftool --extcmd=./evil", None),
        ("rg --pre ./evil x", None),
        ("fd x -x ./evil", None),
        ("sort --compress-program=./evil a", None),
        ("make", None),
        ("make SHELL=./evil", None),
        ("make test SHELL=./evil", None),
        ("pytest -p evil", None),
        ("rm -r x", None),
        ("", None),
    ],
)
def test_podiums_own_agent_is_offered_what_is_known_to_do_no_more(
    command: str, begins: str | None
) -> None:
    rule = offered("run_command", {"command": command})
    assert (None if rule is None else rule.begins) == begins


@pytest.mark.parametrize(
    ("command", "covered"),
    [
        ("git diff", True),
        ("git diff HEAD", True),
        ("git  diff  'a b'", True),
        ("git diff -- a.txt", True),
        ("git diff --stat -U5 -3", True),
        ("git diff --diff-filter=M", True),
        ("git diffx", False),
        ("git -c core.pager=id diff", False),
        ("git diff -c", False),
        ("git diff -o x", False),
        ("git diff -O./order", False),
        ("git diff --output=x", False),
        ("git diff --outp=x", False),
        ("git diff --ext-diff", False),
        ("git diff --exec=id", False),
        ("git diff --some-option-of-tomorrow", False),
        ("git diff; rm -rf ~", False),
        ("git diff & rm x", False),
        ("git diff $HOME", False),
        ("git diff 'x", False),
        ("PAGER=id git diff", False),
        ("git", False),
        ("", False),
    ],
)
def test_a_rule_that_is_known_covers_what_is_known_to_write_and_run_nothing_else(
    command: str, covered: bool
) -> None:
    assert covers("git diff", command) is covered


@pytest.mark.parametrize(
    ("command", "covered"),
    [
        ("ruff check --fix", True),
        ("ruff check -c x", False),
        ("ruff check --config=x", False),
        ("ruff check --outp=x", False),
        ("ruff check; id", False),
    ],
)
def test_a_rule_of_a_recipe_covers_all_but_what_everywhere_leads_elsewhere(
    command: str, covered: bool
) -> None:
    assert covers("ruff check", command) is covered


def test_no_words_cover_nothing() -> None:
    assert not covers("", "ls") and not covers("; ls", "ls")


COMMANDS = st.text(alphabet="git df-co=;&|<>$`(){}\n\\!#'\"*", max_size=40)


@given(COMMANDS)
def test_whatever_is_offered_is_covered_and_is_one_simple_command(command: str) -> None:
    rule = offered("Bash", {"command": command})
    if rule is not None:
        assert covers(rule.begins, command)
        assert simple_words(command)[: len(rule.begins.split())] == rule.begins.split()


@given(COMMANDS, st.sampled_from([";", "&", "|", "\n", "`id`", "$(id)", ">x", "<x"]))
def test_no_rule_covers_what_a_shell_would_read_as_more(command: str, more: str) -> None:
    assert not covers("git", f"git {command}{more}")


@pytest.mark.parametrize(
    "command", ["ls", "ls -la 'a b'", "cat a b", "grep -rn x .", "head -n 3 a", "wc -l a"]
)
def test_a_program_that_is_known_to_read_alone_only_reads(command: str) -> None:
    assert only_reads(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "awk 'BEGIN{system(\"touch a\")}' x",
        "python3 -c 'import os'",
        "ls | xargs rm",
        "rg --files | xargs touch a",
        "cat a | tee b",
        "cat a | sort -o b",
        "find . -delete",
        "find . -fprint a",
        "rg --pre ./evil x",
        "git grep -O./evil x",
        "git diff",
        "cat a > b",
        "cat $(touch a)",
        "ls\ntouch a",
        "ls & touch a",
        "./cat a",
        "/bin/cat a",
        "PATH=. cat a",
        "sed -i s/a/b/ x",
    ],
)
def test_what_may_do_more_is_not_taken_for_reading(command: str) -> None:
    assert not only_reads(command)
