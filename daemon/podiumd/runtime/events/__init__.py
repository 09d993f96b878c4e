"""Feeds of events: pages, followers, notifications."""
