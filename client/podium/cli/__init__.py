"""The command line: its words parsed, explained, completed, handed to a command."""
