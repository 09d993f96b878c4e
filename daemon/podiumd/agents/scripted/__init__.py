"""The scripted agent: a file of turns, played inside the daemon."""
