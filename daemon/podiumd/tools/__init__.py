"""The daemon's work on the machine: processes, commands, git, environments."""
