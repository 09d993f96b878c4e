"""What the daemon does to the machine: processes, commands, git, environments."""
