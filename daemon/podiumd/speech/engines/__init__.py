"""What makes text of speech: a worker process, or a server."""
