"""The deciders: from a state and a command to facts."""
