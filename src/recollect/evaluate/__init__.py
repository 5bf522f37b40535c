"""How good, how fast? The measures behind `recollect eval` and `recollect bench`."""
