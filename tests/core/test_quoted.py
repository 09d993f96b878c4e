"""What a reply quotes of others is not its own answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from podiumd.core.reply.outcome import Outcome, OutcomeError, extract, from_text
from podiumd.core.reply.quoted import MOST_CHARACTERS
from podiumd.core.reply.report import TurnReport
from tests.long import spread
from tests.work import at_most_lines

ALLOWED = ("no-issues", "issues-found")
YES = '{"outcome": "no-issues"}'
NO = '{"outcome": "issues-found"}'
LOG = "```\nreviewer: all fine\n" + YES + "\n```"

# What a reply quotes, with what it says itself.
QUOTED: list[tuple[str, str]] = [
    ("> " + YES + "\n\n" + NO, "issues-found"),
    (NO + "\n\nThe reviewer had said:\n> " + YES, "issues-found"),
    (NO + "\n  > > " + YES, "issues-found"),
    (NO + "\n- > " + YES + "\n2. > " + YES, "issues-found"),
    (NO + "\n> ```json\n> " + YES + "\n> ```", "issues-found"),
    (NO + "\n\nIts log:\n" + LOG, "issues-found"),
    (LOG + "\n\n" + NO, "issues-found"),
    ("```json\n" + NO + "\n```\n" + LOG + "\nDone.", "issues-found"),
    (NO + "\n~~~diff\n+" + YES + "\n+and more\n~~~", "issues-found"),
    # CommonMark goes on with a quote, or a list's fence, where nobody would.
    (NO + "\n> said the log:\n" + YES, "issues-found"),
    (NO + "\n- > said the log:\n" + YES, "issues-found"),
    (
        NO + "\n\n1. a\n   - b\n     - ```\n       the log\n       " + YES + "\n       ```",
        "issues-found",
    ),
    (NO + "\n\nIts file:\n\n    " + YES + "\n", "issues-found"),
    (NO + "\n\n\t" + YES, "issues-found"),
    (NO + "\n\n- a\n\n      " + YES, "issues-found"),
    (NO + "\n<blockquote>" + YES + "</blockquote>", "issues-found"),
    (NO + "\n\n<blockquote>\n\n" + YES + "\n\n</blockquote>\n", "issues-found"),
    (NO + "\n<pre>\n" + YES + "\n</pre>", "issues-found"),
    (NO + "\n\n<div\n class='log'>\n" + YES, "issues-found"),
    (NO + "\nIt said <code>" + YES + "</code>.", "issues-found"),
    (NO + "\n\nA <!-- comment\n" + YES + "\n--> ends.", "issues-found"),
    (NO + "\n```diff\n+" + YES + "\n```", "issues-found"),
    (NO + "\n```console\n" + YES + "\n```", "issues-found"),
    (NO + "\nThe reviewer said `" + YES + "`.", "issues-found"),
    (NO + "\nI ran ``echo " + YES + "``.", "issues-found"),
    (NO + '\nThe reviewer said "' + YES + '".', "issues-found"),
    (NO + '\nThe reviewer said "fine: ' + YES + ', so done" there.', "issues-found"),
    (NO + "\nThe reviewer said '" + YES + "'.", "issues-found"),
    (NO + "\nThe reviewer said “**" + YES + "**”.", "issues-found"),
    (NO + "\n\n[log]: " + YES.replace(" ", ""), "issues-found"),
    (NO + "\n\n" + "- " * 40 + "> " + YES, "issues-found"),
    # What is quoted over several lines, or from far away.
    (NO + "\n\nIt printed `foo\n" + YES + "\nbar` and died.", "issues-found"),
    (NO + "\n\n- It printed ``foo\n  " + YES + "\n  bar`` and died.", "issues-found"),
    (NO + "\n\nIt printed \\`a and `foo\n" + YES + "\nbar` and died.", "issues-found"),
    (NO + '\n\nIt <a title="`">printed</a> `foo\n' + YES + "\nbar` and died.", "issues-found"),
    (NO + "\n\n# It `is\nIt printed `foo " + YES + " bar`.", "issues-found"),
    (NO + "\n\nIt said “\n" + YES + "\n” and died.", "issues-found"),
    (NO + '\n\nIt said "\n' + YES + '\n" and died.', "issues-found"),
    (NO + "\n\nIt said “" + "a " * 600 + YES + "” there.", "issues-found"),
    (NO + "\n\nIt said “a" + " " * 1200 + YES + "”", "issues-found"),
    (NO + "\n\n彼は「" + YES + "」と言った", "issues-found"),
    (NO + "\n\nIt printed &quot;" + YES + "&quot; and died.", "issues-found"),
    (NO + "\n\nIt printed &#39;" + YES + "&#x27; and died.", "issues-found"),
    # What HTML, a link, a table, a diff or a terminal encloses.
    (NO + "\n\nThe page: x <pre>\n" + YES, "issues-found"),
    (NO + "\n\nThe page: `<p>` x <p>\n" + YES + "\n\n`</p>`", "issues-found"),
    (NO + "\n\nx <?php " + YES + " ?> y", "issues-found"),
    (NO + "\n\nx <![CDATA[\n" + YES + "\n]]> y", "issues-found"),
    (NO + "\n\nx <!-- a\n" + YES, "issues-found"),
    (NO + "\n\nx <img alt='" + YES + "'>", "issues-found"),
    (NO + "\n\nThe log:Vec<BlockQuote class='a'>\n" + YES, "issues-found"),
    (NO + "\n\nx <details>\n" + YES, "issues-found"),
    (NO + "\n\nThe log: <String>\n" + YES + "\n</String>", "issues-found"),
    (NO + "\n\nThe log: <q title='<'>" + YES + "</q>", "issues-found"),
    (NO + '\n\nThe log: <pre title="a>b<c" id=it\'s>\n' + YES, "issues-found"),
    (NO + "\n\n![log " + YES + "](x)", "issues-found"),
    (NO + "\n\n[the [old] log\n" + YES + "\n][x]", "issues-found"),
    (NO + "\n\n| log | says |\n|---|---|\n| a.log | " + YES + " |\n", "issues-found"),
    (NO + "\n\nlog | says\n--- | ---\na.log | it said " + YES, "issues-found"),
    (NO + "\n\nIt said | " + YES, "issues-found"),
    (NO + "\n\nIt adds:\n+" + YES + "\nI stop.", "issues-found"),
    (NO + "\n\nIt drops:\n-" + YES + "\nI stop.", "issues-found"),
    (NO + "\n\n- $ echo " + YES + "\nI stop.", "issues-found"),
    (NO + "\n\n```\n+" + YES + "\n```", "issues-found"),
    # What stays its own.
    ("I ran `a`,\nthen ``b`` and `c`.\nOutcome: " + YES, "no-issues"),
    ("It said `a\nb` and “c”.\n\n`" + YES + "`\n\nIt said `c\nd`.", "no-issues"),
    ("It said “a” and\n“" + YES + "”\n“b”.", "no-issues"),
    ("It is <br> done<br/>\n" + YES, "no-issues"),
    ("It returns Vec<String> and Option<T>, not Map<K, V>.\n" + YES, "no-issues"),
    ("Call it with <path> or <id>; I wrapped it in a <div>: " + YES, "no-issues"),
    ("Here x <y and y> z; a <b && c> d.\n" + YES, "no-issues"),
    ("- It takes &lt;T> and <K extends 'a'>\n- so\n" + YES, "no-issues"),
    ("# Done `\nAll fine.\n" + YES + "\n`", "no-issues"),
    ("```xml\n<pre>\n```\n" + YES, "no-issues"),
    ("See [the log](x) and ] [a], so:\n" + YES, "no-issues"),
    ("log | says\n--- | ---\na | b\n" + YES, "no-issues"),
    ("Done -> fine\n-> " + YES, "no-issues"),
    ("An &nbsp; &#160; entity: " + YES, "no-issues"),
    ('Done ("all" of it).\n**' + YES + '**\n(It\'s "fine".)', "no-issues"),
    ('{"outcome": "other", "otherDescription": "a <b> or `c` \\"d"}\n' + YES, "no-issues"),
    ("> said the log\n\n" + YES, "no-issues"),
    ("- a\n- b\n\n" + YES, "no-issues"),
    ("1. It is done.\n\n   ```json\n   " + YES + "\n   ```", "no-issues"),
    ("Done.\n  " + YES, "no-issues"),
    ("Done:\n    " + YES, "no-issues"),
    ("- It is done.\n\n  **" + YES + "**", "no-issues"),
    ("I changed `<pre>` and `a`.\n" + YES, "no-issues"),
    ("I changed <pre>a</pre> --> b </p>.\n\n" + YES, "no-issues"),
    ('It\'s "a" and `b` with ``c: ' + YES, "no-issues"),
    ("- `" + YES + "`", "no-issues"),
    ("```text\nAll fine.\n\n" + YES, "no-issues"),
    ("```\n```json\n" + YES, "no-issues"),
    ("```json\r\n" + YES + "\r\n```", "no-issues"),
    ("```json\n" + NO + "\n" + YES + "\n```\nDone.", "no-issues"),
    ("```markdown\nAll fine.\n" + YES + "\n```\n", "no-issues"),
    ("```\nnobody ends this\n" + YES, "no-issues"),
    ("```\na log\n```\n> a quote\n\n" + YES, "no-issues"),
    ("2 > 1: " + YES, "no-issues"),
]


@pytest.mark.parametrize(("reply", "outcome"), QUOTED)
def test_what_a_reply_quotes_is_not_its_answer(reply: str, outcome: str) -> None:
    found = from_text(reply, ALLOWED)
    assert isinstance(found, Outcome), found
    assert found.outcome == outcome


NESTED = "`````\n````\n```\n~~~\n" + YES
LONG = "> a\n\n" + "x\n" * (MOST_CHARACTERS // 2) + "\n" + YES


@pytest.mark.parametrize(
    "reply",
    [
        "> " + YES,
        "It said:\n" + LOG,
        '{"a": 1}\n> ' + YES,
        LONG,
        "`````\n````\n```\n~~~\n" + YES,
        "    " + YES,
    ],
)
def test_an_answer_that_is_only_quoted_is_asked_for_again(reply: str) -> None:
    missed = from_text(reply, ALLOWED)
    assert isinstance(missed, OutcomeError), missed
    assert missed.error == "no-json"
    assert missed.message.endswith("one in a quote, in code or in HTML is not taken")


Lines = list[str]
QUOTING: dict[str, Callable[[Lines], Lines]] = {
    "quote": lambda lines: [f"> {line}" for line in lines],
    "log": lambda lines: [_fence(lines), "the log:", *lines, _fence(lines)],
    "diff": lambda lines: [_fence(lines) + "diff", *(f"+{line}" for line in lines), _fence(lines)],
    "indented": lambda lines: ["", *(f"    {line}" for line in lines), ""],
    "pre": lambda lines: ["<pre>", *lines, "</pre>"],
    "element": lambda lines: ["<blockquote>", "", *lines, "", "</blockquote>"],
    "comment": lambda lines: ["<!--", *lines, "-->"],
}
PRESENTING: dict[str, Callable[[Lines], Lines]] = {
    "list": lambda lines: [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])],
    "numbered": lambda lines: ["", f"12. {lines[0]}", *(f"    {line}" for line in lines[1:])],
    "words": lambda lines: ["Some words.", "", *lines],
}


def _fence(lines: Lines) -> str:
    return "`" * (3 + "\n".join(lines).count("`"))


def _wrapped(lines: Lines, names: list[str]) -> str:
    for name in names:
        lines = {**QUOTING, **PRESENTING}[name](lines)
    return "\n".join(lines)


def _ends_once(names: list[str]) -> bool:
    """Whether each block of HTML ends where it was to: the first ``</pre>`` or ``-->`` ends it, and
    a fence between two of them would stay open over all that follows."""
    return names.count("pre") < 2 and names.count("comment") < 2


presenting = st.lists(st.sampled_from([*PRESENTING]), max_size=3)
wrapping = st.lists(st.sampled_from([*QUOTING, *PRESENTING]), max_size=3)
answers = st.sampled_from(["{}", "**{}**", "`{}`", "All fine: {}", "```json\n{}\n```"])


@given(presenting, st.sampled_from([*QUOTING]), wrapping)
def test_no_nesting_makes_an_answer_of_what_is_quoted(
    inner: list[str], quoting: str, outer: list[str]
) -> None:
    assume(_ends_once([quoting, *outer]))
    quoted = _wrapped([YES], [*inner, quoting, *outer])
    for reply in (f"It said:\n\n{quoted}\n\n{NO}", f"{NO}\n\nIt said:\n\n{quoted}\n\nDone."):
        found = from_text(reply, ALLOWED)
        assert isinstance(found, Outcome) and found.outcome == "issues-found"


@given(answers, presenting, wrapping.filter(_ends_once))
def test_what_is_said_last_stays_the_answer_whatever_was_quoted_before(
    answer: str, inner: list[str], before: list[str]
) -> None:
    said = _wrapped(answer.format(NO).split("\n"), inner)
    found = from_text(f"It said:\n\n{_wrapped([YES], before)}\n\nSo:\n\n{said}", ALLOWED)
    assert isinstance(found, Outcome) and found.outcome == "issues-found"


def test_what_one_message_leaves_open_reaches_into_no_other() -> None:
    for first in ("> the log", "```diff\n+a", "<pre>", "- a", "<!-- a"):
        report = TurnReport(kind="done", texts=(first, YES, "Nothing else."))
        assert extract(report, ALLOWED) == Outcome("no-issues")


def test_what_was_wrong_is_said_of_the_last_message_with_anything_in_it() -> None:
    for texts, error in (
        (("> " + YES, "Done."), "no-json"),
        (('{"outcome": "x"}', "Done."), "unknown-outcome"),
        (("{}", "> " + YES), "no-json"),
    ):
        missed = extract(TurnReport(kind="done", texts=texts), ALLOWED)
        assert isinstance(missed, OutcomeError) and missed.error == error
        assert error != "no-json" or missed.message.endswith("is not taken")


@pytest.mark.parametrize(
    "piece",
    spread(
        [
            "`",
            "``` ",
            "<a",
            "<a>",
            "</a>",
            "<!--",
            '"',
            "“",
            "「",
            "&quot;",
            "<?",
            "](",
            "\\`",
            "|-\n",
            "- ",
            "> ",
            "[",
            "\n- a",
            "1) ",
        ],
        6,
    ),
)
def test_marks_without_end_cost_some_lines_for_each_character(piece: str) -> None:
    marks = piece * (8_000 // len(piece))  # enough: what is quadratic takes hundreds for each
    for text in (marks + YES, YES * 200 + marks):
        with at_most_lines(60 * len(text)):
            from_text(text, ALLOWED)
