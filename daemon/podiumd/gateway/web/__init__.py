"""The web client's door: its files, how a page is paired, and its connection."""
