"""Indexes beside the file, derived from its rows: they make a big store quick, and no answer needs them.

A *segment* is an immutable file of arrays that was read from the rows up to a certain change. The database
lists the segments that hold; what is newer than they are is read from the rows. Whoever finds a segment
missing or damaged does without, and a new one is made in the background.
"""
