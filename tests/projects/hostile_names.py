"""Names by which somebody might try to get out of a directory, or fool who looks into it.

``REFUSED`` must not be taken. ``HARMLESS`` look hostile and are plain names all the same: they
may be stored, under just that name.
"""

from __future__ import annotations

_OUTSIDE = ["etc/passwd", "x", "victim.txt", ".ssh/authorized_keys", ""]
_UPWARDS = ["../", "../../../", "./../", "....//", "a/../../", "..//", "a/b/../../../", ".../"]
_WINDOWS = ["..\\", "..\\..\\", "a\\..\\..\\", "C:\\", "\\\\host\\share\\", "\\", "a\\", "..\\../"]
_ROOTS = ["/", "//", "///", "~/", "~root/", "file:///", "/proc/self/fd/", "/dev/", "//host/"]
_DOTS = [
    ".", "..", "...", "....", ". ", ".. ", "..\u00a0", ".env", ".git", ".gitignore", ".bashrc",
    ".htaccess", ".untethered", ".upload-1", "..txt", ".\u200b.", "..%2f", "..%2fetc%2fpasswd",
    "..%c0%af", "..;", "..\u2215x", "..\uff0fx", ".\u0338", "..\u0301",
]  # fmt: skip
_CONTROLS = [
    *(f"a{chr(code)}b.txt" for code in range(32)),
    *(f"a{chr(code)}b" for code in (0x7F, 0x80, 0x85, 0x9B, 0x9F)),
    "a.txt\0.png", "\0", "a\0/../x", "\n", "a\nb", "evil.sh\r\nX-Header: 1", "\x1b[2J",
    "a\x1b]0;x\x07",
]  # fmt: skip
_INVISIBLE = [
    "photo\u202egnp.exe", "\u202dabc", "a\u2066b\u2069", "a\u200eb", "a\u200fb", "a\u061cb",
    "a\u2028b", "a\u2029b", "\ud800", "a\udcffb", "\udfff.txt", "\ue000x", "\U0010ffff", "a\ufffe",
    "\u0378x", "a\u200bb", "a\u2060b", "\ufeffa", "a\u00adb", "a\u200db", "a\u200cb", "a\ufe0fb",
    "a\u034fb", "\u3164", "a\u115fb", "a\u2800b", "a\U000e0041b", "a\U000e0100b", "❤\ufe00",
    "👨\u200d\u200d👩", "a\U0001d173b", "a\u180eb", "\u2061x",
]  # fmt: skip
_BLANK = ["", " ", "\t", "   ", "\u00a0", "\u2003", "\u3000", " a", "a ", "\u00a0a", "a\u3000"]
_OPTIONS = ["-", "--", "-rf", "--help", "-n x", "--exec=sh", "-\u0338x", "-.txt"]
_LONG = [
    "a" * 256, "é" * 128, "€" * 86, "😀" * 64, "a" * 100_000, "e\u0301" * 128, "a" * 252 + ".txt",
    "\u0344" * 100,
]  # fmt: skip

REFUSED = sorted(
    {
        *(up + out for up in [*_UPWARDS, *_WINDOWS] for out in _OUTSIDE),
        *(root + out for root in _ROOTS for out in _OUTSIDE),
        *_DOTS,
        *_CONTROLS,
        *_INVISIBLE,
        *_BLANK,
        *_OPTIONS,
        *_LONG,
    }
)

HARMLESS = [
    "%2e%2e%2fetc%2fpasswd", "%00.txt", "a..b", "a.", "a..", "$(id).txt", "`id`", "a;rm -rf ~",
    "a|b",
    "a&b", "<script>alert(1)</script>".replace("/", "_"),
    "'; DROP TABLE x; --", '"quoted".txt', "CON",
    "nul.txt", "a:b", "file.txt::$DATA", "*", "?.txt", "[a].txt", "{a,b}", "~", "~root", "!x",
    "#x#", "a\u2215b", "a\uff0fb", "a\u2044b", "\uff0e\uff0e", "ünïcode.txt", "e\u0301.txt",
    "日本語.txt",
    "👨\u200d👩\u200d👧.png", "❤\ufe0f\u200d🔥.png", "ශ\u0dca\u200dර", "می\u200cب.txt",
    "a b.txt", "é" * 127, "a" * 255, "x.tar.gz", "0", "a\u0338", "passwd",
]  # fmt: skip
