"""Codex: a process a turn, spoken to as an app-server."""
