"""Messages for phones about runs and sessions."""
