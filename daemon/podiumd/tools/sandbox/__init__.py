"""The commands of a model: run in a sandbox, and put right after it."""
