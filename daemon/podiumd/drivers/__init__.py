"""Drivers: code that runs one turn of one kind of agent."""
