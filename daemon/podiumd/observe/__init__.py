"""What the daemon says of itself: logs, metrics, crash reports."""
