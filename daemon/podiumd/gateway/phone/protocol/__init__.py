"""The phone protocol's messages, in and out. Pure."""
