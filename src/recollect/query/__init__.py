"""What is being asked? Pure functions from text to terms, time and strategy."""
