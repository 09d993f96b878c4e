"""The commands about phones."""

from __future__ import annotations

from podium.commands.spec.table import JSON, Command, option, positional

GATEWAY = (
    Command(
        ("pair",),
        "give a phone a key, as text and QR code",
        "A key for one device, shown only now, with the address and how a phone can reach this "
        "machine. Who has the key can do with your agents what you can.",
        "podium pair --name 'My phone'",
        "commands.gateway:pair",
        (
            option("--name", "what to call the device (default: phone)", "NAME"),
            option("--png", "save the QR code as a picture too", "FILE", values="files"),
            JSON,
        ),
    ),
    Command(
        ("devices",),
        "list the paired devices",
        "Every device that has a key: when it was paired and last seen. 'podium devices revoke "
        "NAME' takes a key back.",
        "podium devices",
        "commands.gateway:devices",
        (JSON,),
    ),
    Command(
        ("devices", "revoke"),
        "take a device's key back",
        "The key is wrong from now on, and the device's connections are cut at once.",
        "podium devices revoke phone",
        "commands.gateway:revoke",
        (positional("NAME", "device", "the device's name", values="devices"), JSON),
    ),
)
