"""Two hundred names that mean harm: to paths, to shells, to people who read them."""

from __future__ import annotations

from pathlib import Path

ENCODED = [
    "%2e%2e%2fsecret.txt", "..%2fsecret.txt", "%2fetc%2fpasswd", "..%c0%afsecret.txt",
    "..%5csecret.txt", "....//secret.txt", "..;/secret.txt", "\u2025/secret.txt",
    "\uff0e\uff0e\uff0fsecret.txt", "..\u2215secret.txt", "..\u2044secret.txt",
]  # fmt: skip
WINDOWS = [
    "..\\secret.txt", "C:\\secret.txt", "\\\\host\\share", "\\\\?\\C:\\x", "con", "nul.txt", "a:b",
    "com1", "lpt1.txt", "aux", "a.txt:stream", "a.", "a ", " a",
]  # fmt: skip
OPTIONS = ["-rf", "--help", "-C/", "--upload-pack=touch pwned", "-oProxyCommand=x", "--", "-"]
DOTS = [
    ".",
    "..",
    "...",
    ". .",
    "..\0",
    ".git",
    ".git/config",
    ".ssh/id_rsa",
    "~",
    "~root",
    "~/x",
]
CONTROL = [f"a{chr(code)}b" for code in (*range(32), 127, 0x85, 0xA0)]
UNICODE = [
    "\u202egnp.exe", "a\u200bb", "\ufeffa", "\u2028", "a\u0301" * 60, "\U0001f4a9", "\ud7ff",
    "\ufb01le", "\u212a", "\u0131", "\u0130", "\u017f", "a" * 127 + "/", "é" * 128,
]  # fmt: skip
LONG = ["a" * 129, "a" * 255, "a" * 256, "a" * 4097, "a/" * 2000, "../" * 1500, "x" * 70_000]
QUERIES = [
    "' OR 1=1 --",
    "'; DROP TABLE runs; --",
    "%",
    "_",
    "*",
    "?",
    "[a-z]*",
    "{a,b}",
    "a\\",
]
TEMPLATES = [
    "{{task}}",
    "${HOME}",
    "$HOME",
    "%HOME%",
    "{0}",
    "%s%s%n",
    "<script>",
    "]]>",
    "\x1b[2J",
]
IDS = [
    "00000000-0000-0000-0000-00000000000", "5f1c8a52-0000-4000-8000-00000000000g",
    "{5f1c8a52-0000-4000-8000-000000000001}", "5f1c8a52/0000-4000-8000-000000000001",
    "5f1c8a52-0000-4000-8000-000000000001\n", "cmd-../../x", "cmd-", "builtin.", ".builtin",
    "project.../x", "builtin.implement-and-review/../../x", "5F1C8A52", "0", "-1", "null",
    "undefined", "NaN", "true", "__proto__", "constructor", "", " ", "\t",
]  # fmt: skip
PLACES = [
    "file:///etc/passwd", "file://localhost/etc/passwd", "http://evil.test/", "data:,x",
    "../podium/config.toml", "../podium/facts.db", "../podium/podium.sock", ".podium/recipes",
    ".env", "../home/.claude", "./secret.txt", "folder/../../secret.txt", "a/./../b", "a//b",
]  # fmt: skip
LINKS = ["link", "link/secret.txt", "link/../link", "dangling", "folder/link/secret.txt"]


def hostile_names(root: Path) -> list[str]:
    """All of them; some lead to what is below ``root``."""
    steps = [
        "../" * n + f"{end}"
        for n in range(1, 9)
        for end in ("secret.txt", "outside/secret.txt", "")
    ]
    absolute = [str(root / "secret.txt"), "/etc/passwd", "/proc/self/environ", "/dev/zero", "//x"]
    shell = [
        f"{before}touch {root}/pwned{after}"
        for before, after in [
            ("; ", ""), ("| ", ""), ("|| ", ""), ("&& ", ""), ("& ", ""), ("$(", ")"), ("`", "`"),
            ("\n", "\n"), ("'; ", " #"), ('"; ', ' "'), ("%0a", ""), ("${IFS}", ""), ("> ", ""),
            ("make; ", ""), ("git.status; ", ""), ("build -f /dev/stdin; ", ""),
        ]
    ]  # fmt: skip
    every = [
        *steps, *absolute, *ENCODED, *WINDOWS, *shell, *OPTIONS, *DOTS, *CONTROL, *UNICODE, *LONG,
        *QUERIES, *TEMPLATES, *IDS, *PLACES, *LINKS,
    ]  # fmt: skip
    assert len(set(every)) >= 200
    return list(dict.fromkeys(every))
