"""What phones are sent of runs and sessions."""
