"""Handlers of phone messages, one for each."""
