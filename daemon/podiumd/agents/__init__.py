"""The agents that Podium drives, a folder each, of a pure half and one that drives."""
