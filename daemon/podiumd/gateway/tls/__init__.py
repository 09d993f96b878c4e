"""TLS of the gateway: certificates made here, or the person's own."""
