"""Speech as the edges use it."""
