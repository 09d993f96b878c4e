"""Questions and conversations at the terminal, while events go on."""
