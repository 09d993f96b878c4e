"""Sessions as clients see them."""
