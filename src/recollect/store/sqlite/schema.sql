-- The whole schema of a Recollect store in SQLite. Times are microseconds since 1970 in UTC.
-- Rows are the truth; memory_words, vector, the hashes of near-duplicates and segments are derived and can be rebuilt from them.

-- A namespace: which languages its memories are stemmed in, which generation of vectors is searched,
-- which one is being filled, how many vectors were removed so far, which weights it is tuned to (as JSON, with
-- the fingerprint of the model that they are for; NULL for the default), and which were in force before.
CREATE TABLE namespace (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  languages TEXT NOT NULL DEFAULT '',
  generation INTEGER REFERENCES generation (number),
  next_generation INTEGER REFERENCES generation (number),
  removed_vectors INTEGER NOT NULL DEFAULT 0,
  tuned TEXT,
  tuned_before TEXT
) STRICT;

-- One model that vectors were made with; vectors of different generations are never compared.
CREATE TABLE generation (
  number INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  fingerprint TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE session (
  number INTEGER PRIMARY KEY,
  namespace INTEGER NOT NULL REFERENCES namespace (number),
  id TEXT NOT NULL,
  agent TEXT,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  summary TEXT,
  summary_extracted INTEGER NOT NULL DEFAULT 0,
  UNIQUE (namespace, id)
) STRICT;

CREATE TABLE document (
  number INTEGER PRIMARY KEY,
  namespace INTEGER NOT NULL REFERENCES namespace (number),
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  title TEXT NOT NULL,
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (namespace, id),
  UNIQUE (namespace, name)
) STRICT;

-- What a scope asks for stands first, so that a candidate is judged without reading its text.
CREATE TABLE memory (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL REFERENCES namespace (number),
  kind TEXT NOT NULL,
  deleted_at INTEGER,
  expires_at INTEGER,
  superseded_by TEXT,
  superseded_at INTEGER,
  valid_from INTEGER,
  valid_until INTEGER,
  created_at INTEGER NOT NULL,
  session INTEGER REFERENCES session (number),
  position INTEGER,
  sector TEXT NOT NULL,
  tier TEXT NOT NULL,
  language TEXT NOT NULL,
  speaker TEXT,
  importance REAL NOT NULL,
  salience REAL NOT NULL,
  salience_at INTEGER NOT NULL,
  access_count INTEGER NOT NULL DEFAULT 0,
  accessed_at INTEGER,
  updated_at INTEGER NOT NULL,
  token_count INTEGER NOT NULL,
  trust TEXT NOT NULL,
  document INTEGER REFERENCES document (number),
  id TEXT NOT NULL,
  hash BLOB NOT NULL,
  tags TEXT NOT NULL DEFAULT '[]',
  files TEXT NOT NULL DEFAULT '[]',
  headings TEXT NOT NULL DEFAULT '[]',
  metadata TEXT NOT NULL DEFAULT '{}',
  source TEXT,
  summary TEXT,
  content TEXT NOT NULL,
  terms TEXT NOT NULL,
  scope TEXT GENERATED ALWAYS AS ('n' || namespace) VIRTUAL,
  UNIQUE (namespace, id)
) STRICT;

CREATE INDEX memory_by_time ON memory (namespace, created_at);
CREATE INDEX memory_by_text ON memory (namespace, hash);
CREATE INDEX memory_by_session ON memory (session, position) WHERE session IS NOT NULL;
CREATE INDEX memory_by_document ON memory (document) WHERE document IS NOT NULL;
CREATE INDEX memory_by_successor ON memory (namespace, superseded_by) WHERE superseded_by IS NOT NULL;

-- Memories that may not hold now: whoever is not here is in scope, as far as its time goes, without being read.
CREATE INDEX memory_aside ON memory (namespace) WHERE deleted_at IS NOT NULL OR expires_at IS NOT NULL
  OR superseded_by IS NOT NULL OR valid_from IS NOT NULL OR valid_until IS NOT NULL;

-- The keyword index over the analysed terms; `scope` names the namespace, so that a small one is found
-- in a big store without reading the others' entries.
CREATE VIRTUAL TABLE memory_words USING fts5 (
  terms, scope,
  content = 'memory', content_rowid = 'number',
  tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~''' "
);

-- What is forgotten leaves no trace in the index.
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER memory_words_add AFTER INSERT ON memory BEGIN
  INSERT INTO memory_words (rowid, terms, scope) VALUES (new.number, new.terms, 'n' || new.namespace);
END;
CREATE TRIGGER memory_words_remove AFTER DELETE ON memory BEGIN
  INSERT INTO memory_words (memory_words, rowid, terms, scope)
  VALUES ('delete', old.number, old.terms, 'n' || old.namespace);
END;
CREATE TRIGGER memory_words_change AFTER UPDATE OF terms, namespace ON memory BEGIN
  INSERT INTO memory_words (memory_words, rowid, terms, scope)
  VALUES ('delete', old.number, old.terms, 'n' || old.namespace);
  INSERT INTO memory_words (rowid, terms, scope) VALUES (new.number, new.terms, 'n' || new.namespace);
END;

-- float32, unit length. A changed text gets a new number, so that what was read before is never mistaken.
CREATE TABLE vector (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL REFERENCES namespace (number),
  generation INTEGER NOT NULL REFERENCES generation (number),
  memory INTEGER NOT NULL REFERENCES memory (number),
  embedding BLOB NOT NULL,
  UNIQUE (memory, generation)
) STRICT;

CREATE INDEX vector_by_age ON vector (namespace, generation, number);

-- Hashes that near-duplicates are likely to share, of memories that were written a few at a time.
CREATE TABLE near_key (
  namespace INTEGER NOT NULL,
  key INTEGER NOT NULL,
  memory INTEGER NOT NULL REFERENCES memory (number),
  PRIMARY KEY (namespace, key, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX near_key_by_memory ON near_key (memory);

-- The same of memories that were written many at once: sorted runs of them, each in pieces of about a page. An entry
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

-- How a session used a memory that it did not create (that one is memory.session).
CREATE TABLE session_link (
  session INTEGER NOT NULL REFERENCES session (number),
  memory INTEGER NOT NULL REFERENCES memory (number),
  usage TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (memory, session, usage)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_link_by_session ON session_link (session);

CREATE TABLE relation (
  source INTEGER NOT NULL REFERENCES memory (number),
  target INTEGER NOT NULL REFERENCES memory (number),
  type TEXT NOT NULL,
  origin TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (source, target, type)
) STRICT, WITHOUT ROWID;

CREATE INDEX relation_by_target ON relation (target);

-- The files of derived indexes that hold, oldest first: up to which memory (or vector) each was read.
CREATE TABLE segment (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  generation INTEGER,
  upto INTEGER NOT NULL,
  size INTEGER NOT NULL
) STRICT;

-- Up to which memory a segment was read or is being read: changes of these are noted.
CREATE TABLE indexed (memory INTEGER NOT NULL) STRICT;
INSERT INTO indexed VALUES (0);

-- Memories of which a segment no longer says what is so, in the order of the changes.
CREATE TABLE word_change (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  memory INTEGER NOT NULL
) STRICT;

CREATE TRIGGER word_change_remove AFTER DELETE ON memory WHEN old.number <= (SELECT memory FROM indexed) BEGIN
  INSERT INTO word_change (memory) VALUES (old.number);
END;
CREATE TRIGGER word_change_change
AFTER UPDATE OF terms, namespace, kind, created_at, session, position, speaker, token_count, tags ON memory
WHEN old.number <= (SELECT memory FROM indexed) BEGIN
  INSERT INTO word_change (memory) VALUES (old.number);
END;
