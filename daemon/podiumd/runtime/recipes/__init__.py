"""The recipes that can be started, and what can be asked about them."""
