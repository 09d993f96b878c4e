"""The RPC edge: JSON-RPC 2.0 over a Unix socket that is one user's alone."""
