"""Terms of the project as the project spells them: ``phone-link`` becomes ``phone_link``.

An engine that is to expect a term recognises its words and guesses what stands between them. Only
that is mended: the words must be the term's own, and something other than spaces must join at least
two of them, since "the next step" is rarely ``next_step``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Final

_PARTS: Final = re.compile(r"[^\W_]+")
_JOINTS: Final = re.compile(r"[-_./]")


def spell(text: str, terms: Iterable[str]) -> str:
    """Return the text with the joints of each of these terms as they should be."""
    for term in sorted(terms, key=len, reverse=True):
        parts = _PARTS.findall(term)
        if len(parts) > 1:
            between = r"[-_./ ]?".join(map(re.escape, parts))
            pattern = rf"(?<![^\W_]){between}(?![^\W_])"
            mend = functools.partial(_mended, term)
            text = re.sub(pattern, mend, text, flags=re.IGNORECASE)
    return text


def _mended(term: str, found: re.Match[str]) -> str:
    return term if _JOINTS.search(found[0]) else found[0]
