"""A short title for a session, made of its first message alone. Pure."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 60
NO_NAME = "New session"
_LOOKED_AT = 8_000
_SHORTEST_SENTENCE = 12

_FENCE = re.compile(r"(```|~~~)(?:.*?)(?:\1|\Z)", re.DOTALL)
_COMMENT = re.compile(r"<!--.{0,2000}?-->", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_MARK = re.compile(r"^(?:#{1,6}\s+|>\s*|[-*+•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+")
_URL = re.compile(r"\bhttps?://([^\s/?#]{1,100})(?:[/?#][^\s)>\]]*)?")
_PATH = re.compile(
    r"(?<![\w/])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[^\s/\\\"'`<>|]+[/\\])+([^\s/\\\"'`<>|]+)"
)
_DEEP_PATH = re.compile(r"(?<![\w/.])(?:[\w.@+-]+/){2,}([\w.@+-]+)")
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"(\*\*|__|`+)(?=\S)(.{1,200}?)\1")
_SENTENCE_END = re.compile(r"(?<=[^\s.])[.!…]+(?=\s)|(?<=\?)\s|:\s*$|[。！]|(?<=？)")  # noqa: RUF001
_HEADING = frozenset(
    ("task", "context", "goal", "problem", "request", "background", "description", "todo", "issue")
)
_FOR_WORDS = (
    r"(?:(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening)|greetings|dear|yo)"
    r"(?: (?:there|again|all|team|claude|codex|podium|everyone))*)(?=[\s,!.:;-]|$)"
    r"|(?:ok(?:ay)?|so|well|now|thanks|thank you|quick question|next up)(?=[,!.:;-])"
    r"|(?:claude|podium)(?=[,!:])"
    r"|please\b"
    r"|(?:can|could|would|will) you(?: please| kindly)?(?: help me(?: to)?)?(?=\s)"
    r"|(?:i(?:'d| would) like|i want|i need) you to(?=\s)|i(?:'d| would) like to(?=\s)"
    r"|(?:let's|let us)(?=\s)|your task is to(?=\s)|help me(?: to)?(?=\s)"
)
_POLITE = re.compile(rf"^(?:{_FOR_WORDS})[\s,!.:;-]*", re.IGNORECASE)
_QUOTES = "\"'`“”„\u2018\u2019«»\u2039\u203a*_ \t"
_PAIRS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "„": "“",
    "\u2018": "\u2019",
    "«": "»",
    "\u2039": "\u203a",
}


def heuristic_name(message: str) -> str:
    """Derive a title for a session that begins with ``message``: 1 to 60 characters, one line.

    It is the first sentence with content, without greeting, polite words, code blocks and marks;
    paths are their last part, addresses their host.
    """
    text = _printable(message[:_LOOKED_AT])
    prose = _COMMENT.sub(" ", _FENCE.sub("\n", text))
    code = text.replace("```", "\n").replace("~~~", "\n")
    for candidate, essence in ((prose, _essence), (prose, _unmarked), (code, _unmarked)):
        for line in _TAG.sub(" ", candidate).splitlines():
            said = essence(line)
            if sum(character.isalnum() for character in said) >= 2 and not _is_heading(said):
                return _title(said)
    return NO_NAME


def cleaned_name(answer: str) -> str:
    """Extract the title from a model's answer, in the same form; empty where it holds none."""
    for line in _printable(answer[:_LOOKED_AT]).splitlines():
        said = _unmarked(line)
        said = re.sub(r"^(?:session )?(?:title|name)\s*:\s*", "", said, flags=re.IGNORECASE)
        said = said.strip(_QUOTES).rstrip(".,;:").strip(_QUOTES)
        if any(character.isalnum() for character in said):
            return _cut(said)
    return ""


def _is_heading(said: str) -> bool:
    """Return whether it only announces that the subject comes next."""
    return said.rstrip(":").lower() in _HEADING


def _printable(text: str) -> str:
    """Return the text in NFC, its line ends as newlines, without other control characters."""
    text = re.sub(r"\r\n?|[\u2028\u2029\x0b\x0c\x85]", "\n", unicodedata.normalize("NFC", text))
    return "".join(
        one if one == "\n" or unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Co") else " "
        for one in text
    )


def _unmarked(line: str) -> str:
    line = _MARK.sub("", line.strip())
    line = _LINK.sub(r"\1", line)
    return " ".join(_EMPHASIS.sub(r"\2", line).split())


def _essence(line: str) -> str:
    line = _unmarked(line)
    line = _DEEP_PATH.sub(r"\1", _PATH.sub(r"\1", _URL.sub(r"\1", line)))
    dropped = " .,;:!…-"
    while (shorter := _POLITE.sub("", line)) != line:
        line = shorter
        dropped += "?"  # "could you ...?" is a wish, no question
    for end in _SENTENCE_END.finditer(line):
        if end.start() >= _SHORTEST_SENTENCE:
            line = line[: end.start()]
            break
    line = line.rstrip(dropped).lstrip(" .,;:!?-")
    while len(line) > 1 and _PAIRS.get(line[0]) == line[-1]:
        line = line[1:-1].strip()
    return line


def _title(said: str) -> str:
    """Cut, and with a capital where the first word is a word and no name of code."""
    first = said.split(maxsplit=1)[0]
    if first.islower() and first.rstrip(",").isalpha():
        said = said[0].upper() + said[1:]
    return _cut(said)


def _cut(text: str) -> str:
    """Cut to at most 60 characters, between words where that leaves enough."""
    if len(text) <= LONGEST:
        return text
    short = text[: LONGEST - 1]
    if not text[LONGEST - 1].isspace():
        before, blank, _ = short.rpartition(" ")
        short = before if blank and len(before) >= LONGEST // 2 else short
    return short.rstrip(" .,;:-") + "…"
