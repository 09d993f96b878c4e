"""The working trees of runs: looked at, compared, listed, merged, removed."""
