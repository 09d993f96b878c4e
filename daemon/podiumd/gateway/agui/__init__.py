"""AG-UI (Agent User Interaction Protocol 1.0): a conversation as a stream of its events."""
