"""``podium chat``: a conversation at the terminal."""
