"""The commands, a module a noun."""
