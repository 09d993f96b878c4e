"""What a sandbox shows and hides, and whether it is the one that was meant."""
