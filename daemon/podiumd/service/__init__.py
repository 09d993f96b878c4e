"""Podium as a service of the person's own session: systemd's user manager, or launchd."""
