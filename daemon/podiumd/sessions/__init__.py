"""The agents' transcripts: found, indexed, numbered and followed."""
