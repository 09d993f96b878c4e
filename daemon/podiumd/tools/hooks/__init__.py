"""Hooks: programs around an agent's tools and at the end of its turns."""
