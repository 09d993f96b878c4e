"""Runs, alive: actors, their effects, leases, recovery, and the service API for the edges."""
