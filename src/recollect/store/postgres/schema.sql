-- The whole schema of a Recollect store in PostgreSQL; `recollect` stands for the schema that the URL names.
-- Every key begins with the namespace, so that each row lives where its namespace lives: with Citus, all
-- tables are distributed by it and every statement goes to one shard. There are no triggers, and numbers are
-- given within a namespace, by whoever holds its row: no sequence is shared.
-- Rows are the truth; words, vector and near_key are derived and can be rebuilt from them.

-- Which migrations were made (administration: one row for the whole store).
CREATE TABLE recollect.version (version integer NOT NULL);

-- A namespace: which languages its memories are stemmed in, which generation of vectors is searched, which
-- one is being filled, which one has an index of its own, how many memories have a keyword entry and how
-- many words these have together (for BM25), the last numbers given, which weights it is tuned to (as JSON, with
-- the fingerprint of the model that they are for; NULL for the default), and which were in force before. Whoever
-- writes locks this row first.
CREATE TABLE recollect.namespace (
  namespace text COLLATE "C" PRIMARY KEY,
  languages text NOT NULL DEFAULT '',
  generation bigint,
  next_generation bigint,
  indexed_generation bigint,
  entries bigint NOT NULL DEFAULT 0,
  words bigint NOT NULL DEFAULT 0,
  last_memory bigint NOT NULL DEFAULT 0,
  last_session bigint NOT NULL DEFAULT 0,
  last_document bigint NOT NULL DEFAULT 0,
  last_generation bigint NOT NULL DEFAULT 0,
  tuned text,
  tuned_before text
) WITH (fillfactor = 50);

-- One model that vectors were made with; vectors of different generations are never compared.
CREATE TABLE recollect.generation (
  namespace text COLLATE "C" NOT NULL REFERENCES recollect.namespace,
  number bigint NOT NULL,
  model text NOT NULL,
  dimensions integer NOT NULL,
  fingerprint text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, number),
  UNIQUE (namespace, fingerprint)
);

CREATE TABLE recollect.session (
  namespace text COLLATE "C" NOT NULL REFERENCES recollect.namespace,
  number bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  agent text,
  started_at timestamptz NOT NULL,
  ended_at timestamptz,
  summary text,
  summary_extracted boolean NOT NULL DEFAULT false,
  PRIMARY KEY (namespace, number),
  UNIQUE (namespace, id)
);

CREATE TABLE recollect.document (
  namespace text COLLATE "C" NOT NULL REFERENCES recollect.namespace,
  number bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  title text NOT NULL,
  hash bytea NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, number),
  UNIQUE (namespace, id),
  UNIQUE (namespace, name)
);

-- `terms` are the analysed terms with their places, as a tsvector is written; `length` is how many there are.
-- `words` is what is searched: it holds the namespace too (after a blank, which no term has), so that a small
-- one is found in a big store without reading the others' entries. A row without terms has no keyword entry.
CREATE TABLE recollect.memory (
  namespace text COLLATE "C" NOT NULL REFERENCES recollect.namespace,
  number bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL DEFAULT 'memory',
  content text NOT NULL,
  summary text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  accessed_at timestamptz,
  valid_from timestamptz,
  valid_until timestamptz,
  superseded_by text COLLATE "C",
  superseded_at timestamptz,
  expires_at timestamptz,
  deleted_at timestamptz,
  session bigint,
  position bigint,
  document bigint,
  sector text NOT NULL,
  tier text NOT NULL,
  language text NOT NULL,
  speaker text,
  importance double precision NOT NULL,
  salience double precision NOT NULL,
  salience_at timestamptz NOT NULL,
  access_count bigint NOT NULL DEFAULT 0,
  token_count bigint NOT NULL,
  trust text NOT NULL,
  hash bytea NOT NULL,
  tags text[] NOT NULL DEFAULT '{}',
  files text[] NOT NULL DEFAULT '{}',
  headings text[] NOT NULL DEFAULT '{}',
  metadata text NOT NULL DEFAULT '{}',
  source text,
  length integer NOT NULL DEFAULT 0,
  terms text,
  words tsvector GENERATED ALWAYS AS (terms::tsvector || array_to_tsvector(ARRAY[' ' || namespace])) STORED,
  PRIMARY KEY (namespace, number),
  UNIQUE (namespace, id),
  FOREIGN KEY (namespace, session) REFERENCES recollect.session,
  FOREIGN KEY (namespace, document) REFERENCES recollect.document
) WITH (toast_tuple_target = 8160);

-- Words stay in the row when texts move out of it: ranking looks at them once for each word of a question.
ALTER TABLE recollect.memory ALTER COLUMN words SET STORAGE MAIN;

CREATE INDEX memory_by_time ON recollect.memory (namespace, created_at);
CREATE INDEX memory_by_text ON recollect.memory (namespace, hash);
CREATE INDEX memory_by_session ON recollect.memory (namespace, session, position) WHERE session IS NOT NULL;
CREATE INDEX memory_by_document ON recollect.memory (namespace, document) WHERE document IS NOT NULL;
CREATE INDEX memory_by_successor ON recollect.memory (namespace, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_by_words ON recollect.memory USING gin (words) WITH (fastupdate = off);

-- float32, unit length, never out of line: a scan of a namespace reads them one after the other.
CREATE TABLE recollect.vector (
  namespace text COLLATE "C" NOT NULL,
  generation bigint NOT NULL,
  memory bigint NOT NULL,
  embedding vector NOT NULL,
  PRIMARY KEY (namespace, generation, memory),
  FOREIGN KEY (namespace, generation) REFERENCES recollect.generation,
  FOREIGN KEY (namespace, memory) REFERENCES recollect.memory
) WITH (toast_tuple_target = 8160);

CREATE INDEX vector_by_memory ON recollect.vector (namespace, memory);

-- Hashes that near-duplicates are likely to share.
CREATE TABLE recollect.near_key (
  namespace text COLLATE "C" NOT NULL,
  key bigint NOT NULL,
  memory bigint NOT NULL,
  PRIMARY KEY (namespace, key, memory),
  FOREIGN KEY (namespace, memory) REFERENCES recollect.memory
);

CREATE INDEX near_key_by_memory ON recollect.near_key (namespace, memory);

-- How a session used a memory that it did not create (that one is memory.session).
CREATE TABLE recollect.session_link (
  namespace text COLLATE "C" NOT NULL,
  session bigint NOT NULL,
  memory bigint NOT NULL,
  usage text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (namespace, memory, session, usage),
  FOREIGN KEY (namespace, session) REFERENCES recollect.session,
  FOREIGN KEY (namespace, memory) REFERENCES recollect.memory
);

CREATE INDEX session_link_by_session ON recollect.session_link (namespace, session);

CREATE TABLE recollect.relation (
  namespace text COLLATE "C" NOT NULL,
  source bigint NOT NULL,
  target bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  origin text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, source, target, type),
  FOREIGN KEY (namespace, source) REFERENCES recollect.memory,
  FOREIGN KEY (namespace, target) REFERENCES recollect.memory
);

CREATE INDEX relation_by_target ON recollect.relation (namespace, target);
