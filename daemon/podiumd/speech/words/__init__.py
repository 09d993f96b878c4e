"""The words that an utterance may hold, and the languages of commands."""
