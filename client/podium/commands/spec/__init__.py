"""The one table of commands, from which help, parser and completions are made."""
