"""The Podium daemon: conducts coding agents on this machine and cannot lose their work."""

__version__ = "0.1.0"
