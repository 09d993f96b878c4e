"""A person's projects, looked at and worked in from afar: commands, files, worktrees, names."""
