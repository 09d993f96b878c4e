"""Replace fields of a Struct under the type checker's eyes. Pure.

``msgspec.structs.replace`` takes any keyword and any value, as far as its types show. That of
``dataclasses`` is checked against the fields, of Structs too, since they are a
``dataclass_transform``; but on a state of forty fields it is a hundred times as slow. So it lends
its type, and the other does the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import replace
else:
    from msgspec.structs import replace

__all__ = ["replace"]
