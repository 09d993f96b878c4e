"""Analysis of a recipe before it runs."""
