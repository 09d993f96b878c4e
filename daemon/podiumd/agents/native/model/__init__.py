"""Models over HTTP: two protocols, endpoints, prices, refusals, retries."""
