"""Any agent that speaks the Agent Client Protocol: a table of the configuration is one."""
