"""The daemon's socket: requests, feeds, following."""
