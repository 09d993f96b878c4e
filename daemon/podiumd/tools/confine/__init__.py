"""The places that a sandbox shows and hides, and the check that it is the one that was meant."""
