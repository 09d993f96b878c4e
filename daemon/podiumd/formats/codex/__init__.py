"""Codex: what it is told and says as an app-server, and its session files."""
