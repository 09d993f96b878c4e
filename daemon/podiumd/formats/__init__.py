"""Readers of what agents write (streams and transcripts), pure: bytes in, values out."""
