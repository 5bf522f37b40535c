"""What it costs, measured; each file says how it is run."""
