"""Targets are read from a Makefile's text, as make would name them, and nothing is run."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects.makefile import MOST_TARGETS, Target, targets
from tests.work import at_most_lines


def names(text: str, **files: str) -> list[str]:
    def read(name: str) -> Iterable[str]:
        return [files[name]] if name in files else []

    return [target.name for target in targets(text, read)]


def test_targets_come_in_order_and_once() -> None:
    assert names("build: a.c\n\tcc a.c\ntest: build\nbuild:\n\techo again\nlint fmt:\n") == [
        "build", "test", "lint", "fmt",
    ]  # fmt: skip


def test_recipes_patterns_paths_and_hidden_names_are_no_targets() -> None:
    text = (
        ".PHONY: all\n_hidden:\n.secret:\n%.o: %.c\nbench-%: x\nout/app: x\nall:\n"
        "\techo not: this\nMakefile: configure\n.DEFAULT_GOAL := all\n"
    )
    assert names(text) == ["all"]


def test_a_dotted_name_is_a_target_unless_it_is_a_file_to_build() -> None:
    text = (
        "test.unit:\nmain.o: main.c\nrelease.tar.gz:\n.PHONY: page.html v1.2\npage.html:\nv1.2:\n"
    )
    assert names(text) == ["test.unit", "page.html", "v1.2"]


def test_a_comment_with_two_signs_describes_its_target() -> None:
    text = (
        "## Make it\nbuild: ## ignored? no, nearer\ntest: x ## Run the tests\n## Tidy\nclean:\nx:\n"
    )
    found = {target.name: target.description for target in targets(text, lambda _: [])}
    assert found == {
        "build": "ignored? no, nearer", "test": "Run the tests", "clean": "Tidy", "x": None,
    }  # fmt: skip


def test_assignments_are_no_targets_whatever_their_operator() -> None:
    text = (
        "A = x:y\nB := x:y\nC ::= x:y\nD :::= x:y\nE ?= x:y\nF += x:y\nG != echo x:y\n"
        "export H = x:y\noverride I := x:y\nexport J\nreal: CFLAGS := -g\nreal: private K = 1\n"
    )
    assert names(text) == []


def test_plain_variables_are_put_in() -> None:
    text = "P = a b\nP += c\nQ := $(P)-x\nE =\n$(Q) ${P}:\n$(E)d$(E):\nN ?= e\nN ?= f\n$N:\n"
    assert names(text) == ["a", "b", "c-x", "c", "d", "e"]


def test_what_only_make_could_tell_is_left_out() -> None:
    text = (
        "$(shell touch pwned) ok: x\nlist-$(foreach a,b c,$(a)): x\n$(UNKNOWN)build:\n"
        "V != echo hi\n$(V):\n$(subst a,b,c d) $(X:a=b) fine: y\n$$dollar:\n$(unclosed\n"
    )
    assert names(text) == ["ok", "fine"]


def test_definitions_are_skipped_and_both_sides_of_a_conditional_count() -> None:
    text = (
        "define recipe\nno: such\nendef\ndefine outer\ndefine inner\nno2: x\nendef\nno3: x\nendef\n"
        "ifeq ($(OS),mac)\nmac: x\nelse\nlinux: x\nendif\nifdef A\nendif\nvpath %.c src:lib\n"
    )
    assert names(text) == ["mac", "linux"]


def test_a_target_may_be_called_like_a_directive() -> None:
    assert names("include: x\nexport: x\ndefine: x\nelse: x\n") == [
        "include", "export", "define", "else",
    ]  # fmt: skip


def test_lines_are_continued_and_their_ends_may_be_those_of_windows() -> None:
    assert names("a \\\n b: c \\\n d: e\r\nf:\r\n\techo\r\n") == ["a", "b", "f"]


def test_other_kinds_of_rules_count_too() -> None:
    assert names("a:: x\nb c &: y\nd: ; echo hi: there\ne: f | g\n") == ["a", "b", "c", "d", "e"]


def test_recipes_may_have_another_prefix() -> None:
    assert names(".RECIPEPREFIX = >\na:\n> echo no: target\n\tb: x\n") == ["a", "b"]


def test_included_files_count_and_share_the_variables() -> None:
    text = "N = one\ninclude a.mk missing.mk\n-include $(D)b.mk # why\nD =\nsinclude $(D)b.mk\n"
    assert names(text, **{"a.mk": "$(N):\nM = two\n", "b.mk": "$(M):\n"}) == ["one", "two"]


def test_there_is_a_limit_to_the_targets() -> None:
    assert len(names("".join(f"t{number}:\n" for number in range(2000)))) == MOST_TARGETS


def test_variables_that_grow_without_end_cost_little() -> None:
    doubling = "".join(f"A{n} = $(A{n - 1}) $(A{n - 1})\n" for n in range(1, 60))
    wide = f"W = {'x ' * 10_000}\n" + ("$(W)" * 8_000 + ":\n") * 2
    cycle = "C = $(C) $(D)\nD = $(C)\n"
    text = f"A0 = x\n{doubling}$(A59): y\n{cycle}$(C): y\n{wide}ok:\n"
    with at_most_lines(10 * len(text)):
        names(text)


@given(st.text(alphabet="ab:=$(){}\\\n\t #.%-+?!&;," + "é", max_size=300))
def test_any_text_gives_names_that_are_safe_as_one_word_of_a_command(text: str) -> None:
    for target in targets(text, lambda _: []):
        assert isinstance(target, Target)
        assert target.name[0].isalnum() and target.name.isascii()
        assert not set(target.name) & set(" \t\n$=:/%;&|<>(){}'\"\\")
