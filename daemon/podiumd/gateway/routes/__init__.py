"""What the gateway answers over HTTP."""
