"""Agents' replies as values: outcomes, actions, patches, reports."""
