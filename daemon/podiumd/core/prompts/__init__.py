"""The texts that agents are sent."""
