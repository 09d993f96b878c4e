"""The composition root: the daemon put together."""
