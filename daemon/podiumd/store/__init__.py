"""What must survive: the log of facts (``facts.db``) and the index of sessions (``index.db``)."""
