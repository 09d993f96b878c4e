"""The parts of a living run: its actor, its effects, its turns, its recovery."""
