"""The gateway: one port for phones (WebSocket) and for everything that speaks HTTP."""
