"""How work gets in: recipes, prompts, words to a conversation."""
