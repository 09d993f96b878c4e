"""Who is let in: devices, keys, hosts, throttles."""
