"""The addresses of this machine, and how a phone reaches them."""
