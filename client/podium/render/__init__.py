"""Runs, sessions and questions as text for a terminal."""
