"""The microphone of this machine."""
