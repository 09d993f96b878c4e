"""What can be known of a recipe before it runs."""
