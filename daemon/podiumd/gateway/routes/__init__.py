"""Routes of the gateway over HTTP."""
