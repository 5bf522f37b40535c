"""What is the best answer? Pure functions from candidates to scores and reasons."""
