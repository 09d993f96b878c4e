"""Claude Code: a process a turn, over stream-json."""
