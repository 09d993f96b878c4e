"""The configuration: settings, their sources, places."""
