"""Who holds which session and working tree."""
