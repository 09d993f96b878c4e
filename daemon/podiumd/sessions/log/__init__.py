"""The numbered messages of one session."""
