"""What does it mean? One small Protocol, and one module for each way to make vectors."""
