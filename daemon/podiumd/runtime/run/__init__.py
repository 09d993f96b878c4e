"""One run, alive: its actor, its effects, its turns, its recovery."""
