"""JSON lines, without the price of importing ``json`` where only reading is needed.

``json`` pulls in ``re`` and ``enum``: about as long as the rest of the client's start. Its scanner
in C works without them, so an answer is read with that, and with ``json`` where an interpreter
does not have it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SPACE = " \t\n\r"


class _Settings:
    """What the C scanner reads its options from (``json.JSONDecoder`` in the library)."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _scanner() -> Callable[[str, int], tuple[Any, int]] | None:
    try:
        import _json

        make: Callable[[Any], Callable[[str, int], tuple[Any, int]]] = _json.make_scanner
        scan = make(_Settings)
        return scan if scan('{"a":[1]}', 0) == ({"a": [1]}, 9) else None
    except (ImportError, AttributeError, TypeError):
        return None


_scan = _scanner()


def decode(line: bytes) -> Any:
    """One JSON text.

    Raises:
        ValueError: not UTF-8, not JSON, or nested too deeply.
    """
    text = line.decode("utf-8").strip(SPACE)
    try:
        if _scan is None:
            import json

            return json.loads(text)
        value, end = _scan(text, 0)
    except (StopIteration, RecursionError) as error:
        raise ValueError("not JSON") from error
    if end != len(text):
        raise ValueError("more than one JSON value on a line")
    return value


def encode(value: Any) -> str:
    """JSON on one line, in ASCII: safe on a terminal whatever the value holds."""
    import json

    return json.dumps(value, separators=(",", ":"))


def request(number: int, method: str, params: dict[str, Any] | None) -> bytes:
    """One JSON-RPC request line. ``method`` holds no character that JSON escapes."""
    extra = f',"params":{encode(params)}' if params else ""
    return f'{{"jsonrpc":"2.0","id":{number},"method":"{method}"{extra}}}\n'.encode("ascii")
