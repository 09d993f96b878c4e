"""Spoken control: a grammar, its languages, and what is read aloud."""
