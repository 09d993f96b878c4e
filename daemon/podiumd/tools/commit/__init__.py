"""The commit of a turn: that turn's changes and nothing else."""
