"""Processes: started, found, bounded, ended."""
