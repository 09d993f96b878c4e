"""The intake of work: recipes, prompts, words to a conversation."""
