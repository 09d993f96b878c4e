"""The index of sessions: what is on the disk, compared and kept."""
