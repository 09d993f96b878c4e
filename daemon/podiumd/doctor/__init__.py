"""``podium doctor``: looks at everything that Podium needs, and changes nothing."""
