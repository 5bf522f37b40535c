"""Who is asking? Thin ways in: parse, one call to Memories, render."""
