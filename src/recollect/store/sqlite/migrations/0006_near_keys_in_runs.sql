-- Hashes of near-duplicates, of memories that were written many at once: sorted runs of them, in pieces of about a page. An entry
-- is eight bytes, little-endian: the hash, and in the lowest 27 bits which memory, counted from the first of the run.
-- The number of a piece is that of its run, and in the lowest 35 bits its first hash.
CREATE TABLE near_run (
  number INTEGER PRIMARY KEY,
  namespace INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  size INTEGER NOT NULL
) STRICT;

CREATE INDEX near_run_by_namespace ON near_run (namespace, first);

CREATE TABLE near_piece (
  number INTEGER PRIMARY KEY,
  entries BLOB NOT NULL
) STRICT;

-- Which hashes a memory has in a run, eight bytes each, so that they go with it.
CREATE TABLE near_kept (
  memory INTEGER PRIMARY KEY REFERENCES memory (number),
  keys BLOB NOT NULL
) STRICT;
