"""Audio in and out: recordings, containers, speaking."""
