"""HTTP/1.1: heads, exchanges, forms, server-sent events."""
