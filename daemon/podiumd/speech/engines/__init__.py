"""Engines that make text of speech: a worker process, or a server."""
