"""What is tidied, bounded and measured beside the runs."""
