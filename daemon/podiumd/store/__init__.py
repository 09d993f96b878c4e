"""Durable state: the log of facts (``facts.db``) and the index of sessions (``index.db``)."""
