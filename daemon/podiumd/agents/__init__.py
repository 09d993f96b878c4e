"""The agents that Podium drives, a folder each."""
