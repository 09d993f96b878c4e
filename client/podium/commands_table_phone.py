"""The command that plays a phone."""

from __future__ import annotations

from podium.commands_table import Command, option

PHONE = (
    Command(
        ("phone",),
        "a simulated phone, for trying and developing",
        "Connect to the gateway as a phone does and act by lines: 'help' lists them. From a pipe "
        "the lines are a script, each done when the gateway has handled the one before. What a "
        "real app would drop or misread is told on standard error and makes the exit code 1.",
        "podium phone --key KEY",
        "commands_phone:phone",
        (
            option("--url", "the gateway (default: that of the running daemon)", "URL"),
            option("--key", "the key of 'podium pair' (default: PODIUM_PHONE_KEY)", "KEY"),
            option(
                "--variant",
                "the app to be: for iPhone and Mac, the same at protocol 0.4, Android, "
                "React Native",
                choices=("ios", "ios-0.4", "android", "rn"),
                default="ios",
            ),
            option("--fingerprint", "trust the certificate with this SHA-256", "HEX"),
            option("--json", "print every frame as JSON instead"),
        ),
    ),
)
