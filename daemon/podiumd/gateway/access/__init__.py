"""Admission to the gateway: devices, keys, hosts, throttles."""
