"""What phones say, and what is said to them."""
