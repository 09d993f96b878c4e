"""The daemon's reports on itself: logs, metrics, crash reports."""
