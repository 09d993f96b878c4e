"""The Agent Client Protocol, version 1: what agents say and what we ask, as values. Pure."""
