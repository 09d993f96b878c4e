"""The machine's service managers, sockets and locks."""
