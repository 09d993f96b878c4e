"""The native agent: the daemon talks to a model itself and does what it answers."""
