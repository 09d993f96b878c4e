"""JSON lines, without the price of importing ``json``.

``json`` pulls in ``re`` and ``enum``: about as long as the rest of the client's start. Its scanner
and its encoder in C work without them, so these are used, and ``json`` where an interpreter does
not have them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

SPACE = " \t\n\r"


class _Settings:
    """Options that the C scanner reads (``json.JSONDecoder`` in the library)."""

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


def _encoder() -> Callable[[Any, int], tuple[str, ...]] | None:
    def refuse(value: object) -> None:
        raise TypeError(f"{type(value).__name__} is no JSON")

    try:
        import _json

        ascii_only = _json.encode_basestring_ascii
        # As json.JSONEncoder makes its own: no check for circles, no indent, nothing sorted.
        make: Callable[..., Callable[[Any, int], tuple[str, ...]]] = _json.make_encoder
        pieces = make(None, refuse, ascii_only, None, ":", ",", False, False, True)
        return pieces if "".join(pieces({"a": [1, "b"]}, 0)) == '{"a":[1,"b"]}' else None
    except (ImportError, AttributeError, TypeError):
        return None


_scan = _scanner()
_pieces = _encoder()


def decode(line: bytes) -> Any:
    """Decode one JSON text.

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
    """Encode JSON on one line, in ASCII: safe on a terminal whatever the value holds."""
    if _pieces is not None:
        return "".join(_pieces(value, 0))
    import json

    return json.dumps(value, separators=(",", ":"))


def request(number: int, method: str, params: Mapping[str, object] | None) -> bytes:
    """Build one JSON-RPC request line. ``method`` holds no character that JSON escapes."""
    extra = f',"params":{encode(params)}' if params else ""
    return f'{{"jsonrpc":"2.0","id":{number},"method":"{method}"{extra}}}\n'.encode("ascii")
