"""Git: what Podium asks of it, and what it may never run."""
