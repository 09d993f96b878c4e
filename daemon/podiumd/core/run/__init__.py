"""A run as data: commands, facts, the state that facts amount to, the fold."""
