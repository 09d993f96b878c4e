"""One handler for each message of a phone."""
