"""Kept in one SQLite file, the default."""
