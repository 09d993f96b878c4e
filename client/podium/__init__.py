"""The Podium client: the ``podium`` command, over the daemon's Unix socket."""

__version__ = "0.1.0"
