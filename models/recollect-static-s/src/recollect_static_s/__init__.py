"""A static table of word-piece vectors: data only; see manifest.json beside this file."""
