"""Changes of a run, as a part of its page: commits, files, patches, uncommitted files."""

from __future__ import annotations

from typing import Any

from podium import text
from podium.export.markup import esc, tag
from podium.render.diff_words import counts, named, notes

Json = dict[str, Any]


def changes(diff: Json | None) -> str:
    """Build the section.

    ``diff`` is the result of ``runs.diff``, or why there is none under ``problem``.
    """
    if diff is None:
        return ""
    if diff.get("problem"):
        inside = tag("p", esc(f"Not known: {diff['problem']}"), class_="soft")
        return tag("h2", "What it changed") + tag("div", inside, class_="card")
    parts = [_commits(diff)]
    parts += [tag("p", esc(line), class_="warn") for line in notes(diff)]
    for name, heading in (("committed", "In its commits"), ("uncommitted", "Not committed")):
        part = diff.get(name) or {}
        if part.get("files"):
            parts.append(tag("h3", heading) + _files(part) + _patch(part))
    inside = "".join(parts) or tag("p", "Nothing.", class_="soft")
    return tag("h2", "What it changed") + tag("div", inside, class_="card changes")


def _commits(diff: Json) -> str:
    items = [
        tag("li", tag("code", esc(str(one.get("commit"))[:12])) + " " + esc(one.get("subject")))
        for one in diff.get("commits") or []
    ]
    if diff.get("more_commits"):
        items.append(tag("li", esc(f"and {diff['more_commits']} earlier"), class_="soft"))
    return tag("ul", "".join(items), class_="commits", dir="auto") if items else ""


def _files(part: Json) -> str:
    rows = []
    for file in part["files"]:
        added, deleted = counts(file)
        cells = tag("td", tag("code", esc(named(file))), dir="auto")
        cells += tag("td", esc(added), class_="good") + tag("td", esc(deleted), class_="bad")
        rows.append(tag("tr", cells))
    if part.get("more"):
        more = esc(text.counted(int(part["more"]), "more file"))
        rows.append(tag("tr", tag("td", more, colspan=3, class_="soft")))
    return tag("table", "".join(rows), class_="files")


def _patch(part: Json) -> str:
    patch = str(part.get("patch") or "")
    if not patch:
        return ""
    lines = []
    for line in patch.split("\n"):
        kind = {"+": "good", "-": "bad", "@": "soft"}.get(line[:1])
        said = esc(line)
        lines.append(tag("span", said, class_=kind) if kind else said)
    cut = tag("p", "The rest is cut: it is too long.", class_="warn") if part.get("cut") else ""
    inside = tag("pre", "\n".join(lines), dir="ltr") + cut
    return tag("details", tag("summary", "The patch") + inside, class_="patch")
