-- scope -- The memories that may answer; every candidate query contains it.
m.deleted_at IS NULL
AND (m.expires_at IS NULL OR m.expires_at > :now)
AND {within}

-- within -- What a scope asks for, whether it may still answer or not; {filters} are those that were given.
m.namespace IN (SELECT value FROM json_each(:namespaces))
AND m.kind IN (SELECT value FROM json_each(:kinds)) {filters}

-- filter_namespace -- Said once more of one alone, for an index can give its memories in the order of time.
AND m.namespace = :namespace

-- filter_since -- Not older than this.
AND m.created_at >= :since

-- filter_until -- Older than this.
AND m.created_at < :until

-- filter_older_than -- Before this one in the order of time: the next page of a list.
AND m.created_at <= :older_than
AND (m.created_at < :older_than OR (m.created_at = :older_than AND m.number < ifnull((
  SELECT min(x.number) FROM memory x WHERE x.namespace IN (SELECT value FROM json_each(:namespaces))
    AND x.id = :older_than_id), 9223372036854775807)))

-- filter_as_of -- Believed at that moment: known by then, valid then, not yet superseded.
AND m.created_at <= :as_of AND ifnull(m.valid_from, m.created_at) <= :as_of
AND (m.valid_until IS NULL OR m.valid_until > :as_of)
AND (m.superseded_at IS NULL OR m.superseded_at > :as_of)

-- filter_current -- What holds now.
AND m.superseded_by IS NULL AND (m.valid_until IS NULL OR m.valid_until > :now)
AND (m.valid_from IS NULL OR m.valid_from <= :now)

-- filter_sectors -- Of these sectors.
AND m.sector IN (SELECT value FROM json_each(:sectors))

-- filter_tiers -- Of these tiers.
AND m.tier IN (SELECT value FROM json_each(:tiers))

-- filter_languages -- In these languages.
AND m.language IN (SELECT value FROM json_each(:languages))

-- filter_speakers -- Said by these.
AND m.speaker IN (SELECT value FROM json_each(:speakers))

-- filter_sessions -- Made in these sessions, or said again or changed there.
AND m.number IN (
  SELECT x.number FROM session s JOIN memory x ON x.session = s.number
  WHERE s.namespace IN (SELECT value FROM json_each(:namespaces))
    AND s.id IN (SELECT value FROM json_each(:sessions))
  UNION SELECT l.memory FROM session s JOIN session_link l ON l.session = s.number
  WHERE s.namespace IN (SELECT value FROM json_each(:namespaces))
    AND s.id IN (SELECT value FROM json_each(:sessions)) AND l.usage IN ('reinforced', 'updated'))

-- filter_documents -- Passages of these documents.
AND m.document IN (
  SELECT d.number FROM document d
  WHERE d.namespace IN (SELECT value FROM json_each(:namespaces))
    AND d.name IN (SELECT value FROM json_each(:documents)))

-- filter_tags -- With all of these tags.
AND NOT EXISTS (
  SELECT 1 FROM json_each(:tags) wanted
  WHERE wanted.value NOT IN (SELECT value FROM json_each(m.tags)))

-- filter_min_salience -- Salient enough.
AND {salience} >= :min_salience

-- salience -- What is left of a memory's salience now: it decays by sector, in days since it was last raised.
(m.salience * exp(-max(0, :now - m.salience_at) / 86400e6 * CASE m.sector
  WHEN 'emotional' THEN 0.003 WHEN 'semantic' THEN 0.005 WHEN 'reflective' THEN 0.008
  WHEN 'procedural' THEN 0.01 ELSE 0.02 END))

-- candidate -- What ranking needs to know of a candidate, before its text is read.
m.number, m.session, m.position, m.speaker, m.token_count, m.created_at

-- columns -- A memory as it is read back.
m.number, n.name, m.id, m.content, m.created_at, m.updated_at, m.accessed_at, m.sector, m.tier, m.kind,
m.importance, {salience}, m.access_count, m.token_count, m.language, m.tags, m.files, m.summary, m.speaker,
s.id, m.metadata, m.source, m.trust, m.valid_from,
coalesce(min(m.valid_until, m.superseded_at), m.valid_until, m.superseded_at), m.superseded_by, m.expires_at,
m.deleted_at, d.name, m.headings

-- memories -- A memory with its namespace, session and document.
memory m JOIN namespace n ON n.number = m.namespace
LEFT JOIN session s ON s.number = m.session LEFT JOIN document d ON d.number = m.document

-- last_memory -- The highest number that a memory has had.
ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'memory'), 0)

-- last_vector -- The highest number that a vector has had.
ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'vector'), 0)

-- namespaces -- What must be known of these namespaces before they are searched.
SELECT n.name, n.number, n.languages, n.removed_vectors, (SELECT max(number) FROM namespace),
  ifnull((SELECT max(number) FROM segment), 0), ifnull((SELECT max(number) FROM word_change), 0),
  {last_memory}, {last_vector}, (SELECT block FROM memory_words_data WHERE id = 1), (
    SELECT json_group_array(number) FROM (SELECT m.number FROM memory m INDEXED BY memory_aside
    WHERE {may_not_hold} AND m.namespace = n.number LIMIT :few + 1)),
  n.tuned, n.tuned_before,
  a.number, a.model, a.dimensions, a.fingerprint, b.number, b.model, b.dimensions, b.fingerprint
FROM namespace n
LEFT JOIN generation a ON a.number = n.generation
LEFT JOIN generation b ON b.number = n.next_generation
WHERE n.name IN (SELECT value FROM json_each(:names))

-- match -- Live memories in scope that contain the words, best first.
SELECT -bm25(memory_words, 1.0, 0.0) AS score, {candidate}
FROM memory_words CROSS JOIN memory m ON m.number = memory_words.rowid
WHERE memory_words MATCH :match AND {scope}
ORDER BY score DESC, m.number LIMIT :limit

-- match_best -- The best of all that contain the words, and whether each is in scope.
SELECT {scope}, best.score, {candidate}
FROM (
  SELECT rowid AS number, -bm25(memory_words, 1.0, 0.0) AS score FROM memory_words
  WHERE memory_words MATCH :match ORDER BY score DESC, number LIMIT :reach
) best JOIN memory m ON m.number = best.number
ORDER BY best.score DESC, m.number

-- judged -- Which of these memories are in scope, what ranking needs to know of them, and their vectors' numbers.
SELECT {candidate}, (
  SELECT v.number FROM vector v WHERE v.memory = m.number
    AND v.generation = (SELECT number FROM generation WHERE fingerprint = :fingerprint))
FROM json_each(:numbers) wanted CROSS JOIN memory m ON m.number = wanted.value
WHERE {scope}

-- may_not_hold -- It was deleted, expires, was superseded, or holds for a certain time.
(m.deleted_at IS NOT NULL OR m.expires_at IS NOT NULL OR m.superseded_by IS NOT NULL
  OR m.valid_from IS NOT NULL OR m.valid_until IS NOT NULL)

-- aside -- Those of these memories that may not hold now.
SELECT m.number FROM json_each(:namespaces) n CROSS JOIN json_each(:numbers) wanted
CROSS JOIN memory m INDEXED BY memory_aside ON m.namespace = n.value AND m.number = wanted.value
WHERE {may_not_hold}

-- numbers_in_scope -- All live memories in scope, for when too few of the best were in it.
SELECT json_group_array(m.number) FROM memory m WHERE {scope}

-- numbers_by_index -- The memories of an interval, a session or a document; how many, if no more than so many.
SELECT count(*), json_group_array(number) FROM (
  SELECT m.number FROM memory m
  WHERE m.namespace IN (SELECT value FROM json_each(:namespaces)) {filters} LIMIT :most)

-- phrased -- Memories that contain the phrases.
SELECT m.number, m.namespace, m.terms
FROM memory_words CROSS JOIN memory m ON m.number = memory_words.rowid
WHERE memory_words MATCH :match LIMIT :limit

-- newer_words -- Memories that no segment has yet and that contain the words.
SELECT m.number, {to_index}
FROM memory_words CROSS JOIN memory m ON m.number = memory_words.rowid
WHERE memory_words MATCH :match AND memory_words.rowid > :upto

-- segments -- The files that hold, oldest first.
SELECT number, kind, name, generation, upto, size FROM segment ORDER BY number

-- substring -- Live memories in scope that contain the text as it stands, newest first.
SELECT 1.0, {candidate} FROM memory m
WHERE m.content LIKE :pattern ESCAPE '\' AND {scope}
ORDER BY m.created_at DESC, m.number LIMIT :limit

-- new_vectors -- Vectors of a namespace that were written after the last one that was read.
SELECT number, memory, embedding FROM vector
WHERE namespace = :namespace AND generation = :generation AND number > :last ORDER BY number LIMIT :limit

-- count_vectors -- How many vectors a namespace has in a generation, after the last one that was read.
SELECT count(*) FROM vector WHERE namespace = :namespace AND generation = :generation AND number > :last

-- load -- The winners, with their session, what superseded them, how many relations they have, and their document's title.
SELECT {columns}, s.started_at, s.ended_at, s.agent, s.summary, z.id, z.content, z.created_at,
  (SELECT count(*) FROM relation r JOIN memory x ON x.number = r.target
   WHERE r.source = m.number AND x.deleted_at IS NULL)
  + (SELECT count(*) FROM relation r JOIN memory x ON x.number = r.source
     WHERE r.target = m.number AND x.deleted_at IS NULL),
  d.title
FROM json_each(:numbers) wanted CROSS JOIN {memories}
LEFT JOIN memory z ON z.namespace = m.namespace AND z.id = m.superseded_by
WHERE m.number = wanted.value

-- neighbours -- What was said just before and after these memories in their sessions.
SELECT centre.number, {columns}
FROM memory centre
JOIN memory m ON m.session = centre.session AND m.position BETWEEN centre.position - :reach AND centre.position + :reach
  AND m.number <> centre.number
JOIN namespace n ON n.number = m.namespace
LEFT JOIN session s ON s.number = m.session LEFT JOIN document d ON d.number = m.document
WHERE centre.number IN (SELECT value FROM json_each(:numbers)) AND m.deleted_at IS NULL
  AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY centre.number, m.position

-- get -- These memories, by id, deleted ones too.
SELECT {columns} FROM {memories}
WHERE n.name = :namespace AND m.id IN (SELECT value FROM json_each(:ids))

-- ids_ending -- Ids that end so, the shortest first: people type the last few characters.
SELECT m.id FROM memory m JOIN namespace n ON n.number = m.namespace
WHERE n.name = :namespace AND m.id LIKE :pattern ESCAPE '\' ORDER BY length(m.id) LIMIT 3

-- before -- What was remembered before a memory, nearest first.
SELECT {columns} FROM {memories}
WHERE n.name = :namespace AND m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND m.kind = 'memory' AND (m.created_at, m.number) < (:at, :number)
ORDER BY m.created_at DESC, m.number DESC LIMIT :limit

-- after -- What was remembered after a memory, nearest first.
SELECT {columns} FROM {memories}
WHERE n.name = :namespace AND m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND m.kind = 'memory' AND (m.created_at, m.number) > (:at, :number)
ORDER BY m.created_at, m.number LIMIT :limit

-- in_scope -- Live memories in scope, in the order of time, the newest :limit of them.
SELECT * FROM (
  SELECT {columns} FROM {memories} WHERE {scope} ORDER BY m.created_at DESC, m.number DESC LIMIT :limit
) ORDER BY 5, 1

-- sessions -- Sessions, newest first, with the number of live memories made in each.
SELECT s.id, n.name, s.started_at, s.ended_at, s.agent, s.summary,
  (SELECT count(*) FROM memory m WHERE m.session = s.number AND m.deleted_at IS NULL)
FROM session s JOIN namespace n ON n.number = s.namespace
WHERE n.name = :namespace AND (:ids IS NULL OR s.id IN (SELECT value FROM json_each(:ids)))
  AND (:since IS NULL OR ifnull(s.ended_at, s.started_at) >= :since)
  AND (:until IS NULL OR s.started_at < :until)
  AND (:older_than IS NULL OR s.started_at < :older_than OR (s.started_at = :older_than AND s.number < ifnull((
    SELECT x.number FROM session x WHERE x.namespace = s.namespace AND x.id = :older_than_id), 9223372036854775807)))
ORDER BY s.started_at DESC, s.number DESC LIMIT :limit

-- last_use -- The session that used a memory last, and how.
SELECT s.id, use.usage,
  (SELECT count(*) FROM (
     SELECT x.number FROM memory x WHERE x.session = s.number
     UNION SELECT l.memory FROM session_link l WHERE l.session = s.number))
FROM memory m JOIN namespace n ON n.number = m.namespace
JOIN (
  SELECT memory, session, usage, at, 1 AS later FROM session_link
  UNION ALL SELECT number, session, 'created', created_at, 0 FROM memory WHERE session IS NOT NULL
) use ON use.memory = m.number
JOIN session s ON s.number = use.session
WHERE n.name = :namespace AND m.id = :id
ORDER BY use.later DESC, use.at DESC, use.session DESC LIMIT 1

-- relations -- The edges of these memories, both ways; CROSS JOIN keeps to the order that the indexes are for.
WITH these (number) AS MATERIALIZED (
  SELECT m.number FROM json_each(:ids) wanted CROSS JOIN namespace n CROSS JOIN memory m
  WHERE n.name = :namespace AND m.namespace = n.number AND m.id = wanted.value
), edges AS (
  SELECT r.* FROM these CROSS JOIN relation r ON r.source = these.number
  UNION SELECT r.* FROM these CROSS JOIN relation r ON r.target = these.number
)
SELECT a.id, b.id, r.type, r.origin, r.created_at
FROM edges r CROSS JOIN memory a ON a.number = r.source CROSS JOIN memory b ON b.number = r.target
ORDER BY r.created_at, a.id, b.id, r.type LIMIT :limit

-- history -- What a memory superseded and what superseded it, the nearest steps, itself too, in the order of time.
WITH RECURSIVE later (id, steps) AS (
  SELECT :id, 0 UNION
  SELECT x.superseded_by, later.steps + 1 FROM later CROSS JOIN memory x ON x.id = later.id
    AND x.namespace = (SELECT number FROM namespace WHERE name = :namespace)
  WHERE x.superseded_by IS NOT NULL AND later.steps < :limit
), earlier (id, steps) AS (
  SELECT :id, 0 UNION
  SELECT x.id, earlier.steps + 1 FROM earlier CROSS JOIN memory x ON x.superseded_by = earlier.id
    AND x.namespace = (SELECT number FROM namespace WHERE name = :namespace)
  WHERE earlier.steps < :limit
), nearest (id) AS (
  SELECT id FROM (SELECT * FROM later UNION ALL SELECT * FROM earlier)
  GROUP BY id ORDER BY min(steps), id LIMIT :limit
)
SELECT {columns} FROM {memories}
WHERE m.number IN (
    SELECT x.number FROM nearest CROSS JOIN memory x
    WHERE x.namespace = (SELECT number FROM namespace WHERE name = :namespace) AND x.id = nearest.id)
  AND (m.id = :id OR (m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)))
ORDER BY m.created_at, m.number

-- documents -- The documents of a namespace, by name.
SELECT d.id, d.name, d.title, (SELECT count(*) FROM memory m WHERE m.document = d.number),
  d.created_at, d.updated_at, d.hash
FROM document d JOIN namespace n ON n.number = d.namespace
WHERE n.name = :namespace AND (:name IS NULL OR d.name = :name) ORDER BY d.name

-- same_texts -- Live memories that say the same as one of these, by the hash of their text, the oldest first.
SELECT m.hash, m.number, m.id, m.content, m.language, m.tags, m.files, m.metadata FROM memory m
WHERE m.namespace = :namespace AND m.hash IN (SELECT unhex(value) FROM json_each(:hashes))
  AND m.speaker IS NULL AND m.kind = 'memory' AND m.deleted_at IS NULL AND m.superseded_by IS NULL
  AND (m.valid_until IS NULL OR m.valid_until > :now) AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY m.number

-- similar_texts -- Those of these memories that are not deleted, as one value; what they say is in their terms.
SELECT json_group_array(json_array(number, id, '', language, json(tags), json(files), '{}', terms))
FROM memory WHERE number IN (SELECT value FROM json_each(:numbers)) AND deleted_at IS NULL

-- add_keyword_entries -- Those of new memories that were written without the trigger which writes them.
INSERT INTO memory_words (rowid, terms, scope)
SELECT number, terms, scope FROM memory WHERE number BETWEEN :first AND :last ORDER BY number

-- add_memory -- A new memory; the triggers write its keyword entry.
INSERT INTO memory (
  number, namespace, kind, expires_at, valid_from, valid_until, superseded_by, superseded_at, deleted_at,
  created_at, session, position, sector, tier, language, speaker, importance, salience, salience_at,
  access_count, accessed_at, updated_at, token_count, trust, document, id, hash, tags, files, headings,
  metadata, source, summary, content, terms
) VALUES (
  :number, :namespace, :kind, :expires_at, :valid_from, :valid_until, :superseded_by, :superseded_at, :deleted_at,
  :created_at, :session, :position, :sector, :tier, :language, :speaker, :importance, :salience, :salience_at,
  :access_count, :accessed_at, :updated_at, :token_count, :trust, :document, :id, :hash, :tags, :files, :headings,
  :metadata, :source, :summary, :content, :terms
)

-- last_position -- The last place in a session; -1 when it is empty.
SELECT ifnull(max(position), -1) FROM memory WHERE session = :session

-- last_rows -- The highest numbers that a memory and a vector have had, and how many changes wait.
SELECT {last_memory}, {last_vector}, (SELECT count(*) FROM word_change)

-- unindexed -- How many rows no segment has as they are, of words or of vectors; and the newest change.
SELECT max({last_memory} - ifnull((SELECT max(upto) FROM segment WHERE kind = 'words'), 0)
    + (SELECT count(*) FROM word_change),
  {last_vector} - ifnull((SELECT max(upto) FROM segment WHERE kind = 'vectors'), 0)),
  ifnull((SELECT max(number) FROM word_change), 0)

-- begin_indexing -- Changes of all that is there now are noted from now on.
UPDATE indexed SET memory = {last_memory}

-- last_change -- The newest change of terms.
SELECT ifnull(max(number), 0) FROM word_change

-- to_index -- What a segment says of a memory.
m.namespace, m.terms, m.tags, m.kind, m.created_at, m.session, m.position, m.token_count, m.speaker

-- terms_to_index -- Memories that no segment has yet.
SELECT m.number, {to_index} FROM memory m
WHERE number > :after AND number <= :upto ORDER BY number LIMIT :limit

-- changes_to_index -- Memories that segments have otherwise, as they are now; NULLs for one that is gone.
SELECT DISTINCT c.memory, {to_index} FROM word_change c LEFT JOIN memory m ON m.number = c.memory
WHERE c.number <= :change AND c.memory <= :upto

-- vectors_to_index -- Vectors that no segment has yet.
SELECT number, memory, namespace, generation, embedding FROM vector
WHERE number > :after AND number <= :upto ORDER BY number LIMIT :limit

-- generations_with_vectors -- Those that are searched, being filled, or could be taken up again.
SELECT g.number FROM generation g WHERE EXISTS (
  SELECT 1 FROM namespace n CROSS JOIN vector v ON v.namespace = n.number AND v.generation = g.number)

-- dimensions -- How many dimensions the vectors of each generation have.
SELECT number, dimensions FROM generation

-- add_segment -- A file that holds from now on.
INSERT INTO segment (kind, name, generation, upto, size) VALUES (:kind, :name, :generation, :upto, :size)

-- remove_segments -- Files that others have taken the place of.
DELETE FROM segment WHERE name IN (SELECT value FROM json_each(:names))

-- settle_changes -- Changes that segments know.
DELETE FROM word_change WHERE number <= :change

-- changed_after -- Memories that segments may have otherwise, or that are gone.
SELECT DISTINCT memory FROM word_change WHERE number > :after

-- vectors_of -- The vectors that these memories have now.
SELECT number FROM vector WHERE memory IN (SELECT value FROM json_each(:memories))

-- any_vector -- Whether one of these vectors holds.
SELECT EXISTS (SELECT 1 FROM json_each(:numbers) wanted CROSS JOIN vector v ON v.number = wanted.value)

-- last_numbers -- The highest numbers of memories, sessions, documents and generations so far.
SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'memory'), 0), ifnull((SELECT max(number) FROM session), 0),
  ifnull((SELECT max(number) FROM document), 0), ifnull((SELECT max(number) FROM generation), 0)

-- touch -- Use makes a memory more salient: decay up to now is settled, then it is raised, never above 1.
UPDATE memory AS m SET
  salience = max(0, min(1, {salience} + :amount)), salience_at = max(:now, m.salience_at),
  access_count = m.access_count + :uses, accessed_at = max(:now, ifnull(m.accessed_at, :now))
WHERE m.number IN (SELECT value FROM json_each(:numbers))

-- link -- A session used these memories.
INSERT INTO session_link (session, memory, usage, at)
SELECT :session, m.number, :usage, :now FROM json_each(:numbers) wanted JOIN memory m ON m.number = wanted.value
WHERE true
ON CONFLICT DO UPDATE SET at = excluded.at

-- add_vector -- The vector of a memory that has none of this generation.
INSERT INTO vector (namespace, generation, memory, embedding) VALUES (:namespace, :generation, :memory, :embedding)

-- set_vector -- A memory's vector, if it still says what that was made from; a new number tells readers.
INSERT OR REPLACE INTO vector (namespace, generation, memory, embedding)
SELECT :namespace, :generation, m.number, :embedding FROM memory m
WHERE m.number = :memory AND m.hash = :hash

-- pending -- Memories that have no vector of this generation yet, oldest first.
SELECT m.number, m.hash, m.content, m.speaker, m.headings, d.title
FROM memory m LEFT JOIN document d ON d.number = m.document
WHERE m.namespace = (SELECT number FROM namespace WHERE name = :namespace) AND m.number > :after AND {unembedded}
ORDER BY m.number LIMIT :limit

-- unembedded -- Whether a memory has no vector of a generation.
NOT EXISTS (
  SELECT 1 FROM vector v WHERE v.memory = m.number
  AND v.generation = (SELECT number FROM generation WHERE fingerprint = :fingerprint))

-- count_pending -- How many memories have no vector of this generation yet.
WITH n AS (SELECT number FROM namespace WHERE name = :namespace)
SELECT (SELECT count(*) FROM memory WHERE namespace = (SELECT number FROM n)) - (
  SELECT count(*) FROM vector WHERE namespace = (SELECT number FROM n)
  AND generation = (SELECT number FROM generation WHERE fingerprint = :fingerprint))

-- vectors_state -- What is another once a vector of a namespace has gone; and the highest number of a memory.
SELECT n.number, n.removed_vectors, n.generation, n.next_generation, {last_memory}
FROM namespace n WHERE n.name = :namespace

-- count_newer_pending -- The same, of memories after one; the plus keeps to the order of their numbers.
SELECT count(*) FROM memory m WHERE m.number > :after
  AND +m.namespace = (SELECT number FROM namespace WHERE name = :namespace) AND {unembedded}

-- keys_of -- The memories, live or not, that these ids name.
SELECT m.number FROM memory m JOIN namespace n ON n.number = m.namespace
WHERE n.name = :namespace AND m.id IN (SELECT value FROM json_each(:ids))

-- to_forget_in_scope -- The memories in a scope; deleted and expired ones too, for they are still on the disk.
SELECT m.number FROM memory m WHERE {within}

-- stats -- A namespace in numbers.
SELECT
  count(*) FILTER (WHERE m.kind = 'memory' AND m.deleted_at IS NULL),
  count(*) FILTER (WHERE m.kind = 'passage' AND m.deleted_at IS NULL),
  count(*) FILTER (WHERE m.superseded_by IS NOT NULL AND m.deleted_at IS NULL),
  count(*) FILTER (WHERE m.deleted_at IS NOT NULL),
  count(*) FILTER (WHERE m.expires_at <= :now AND m.deleted_at IS NULL),
  min(m.created_at), max(m.created_at),
  (SELECT count(*) FROM document d WHERE d.namespace = n.number),
  (SELECT count(*) FROM session s WHERE s.namespace = n.number),
  (SELECT count(*) FROM relation r JOIN memory x ON x.number = r.source WHERE x.namespace = n.number),
  (SELECT count(*) FROM vector v WHERE v.namespace = n.number AND v.generation = n.generation),
  (SELECT json_group_array(DISTINCT g.model) FROM generation g
   WHERE g.number IN (n.generation, n.next_generation))
FROM namespace n LEFT JOIN memory m ON m.namespace = n.number
WHERE n.name = :namespace GROUP BY n.number

-- growth -- How many live memories of each sector each day brought; days are counted from 1970, in UTC.
SELECT m.created_at / 86400000000 - (m.created_at % 86400000000 < 0) AS day, m.sector, count(*)
FROM memory m JOIN namespace n ON n.number = m.namespace
WHERE n.name = :namespace AND m.deleted_at IS NULL AND m.kind = 'memory' GROUP BY 1, 2 ORDER BY 1, 2

-- saliences -- How many live memories have which tenth of salience now.
SELECT CAST(min(9, {salience} * 10) AS INTEGER), count(*)
FROM memory m JOIN namespace n ON n.number = m.namespace
WHERE n.name = :namespace AND m.deleted_at IS NULL AND m.kind = 'memory' GROUP BY 1

-- tally -- Live memories by sector and by language.
SELECT m.sector, m.language, count(*) FROM memory m JOIN namespace n ON n.number = m.namespace
WHERE n.name = :namespace AND m.deleted_at IS NULL AND m.kind = 'memory' GROUP BY 1, 2

-- namespace_names -- Every namespace of the store and how many live memories it has (administration).
SELECT n.name, (
  SELECT count(*) FROM memory m WHERE m.namespace = n.number AND m.kind = 'memory' AND m.deleted_at IS NULL)
FROM namespace n ORDER BY n.name

-- make_namespace -- A namespace comes to be when it is first written to.
INSERT INTO namespace (name) VALUES (:name) ON CONFLICT DO NOTHING

-- namespace -- What a writer must know of its namespace.
SELECT number, languages, generation, next_generation FROM namespace WHERE name = :name

-- learn_languages -- The languages that the memories of a namespace are stemmed in.
UPDATE namespace SET languages = :languages WHERE number = :namespace

-- taken_ids -- Which of these ids are taken.
SELECT id FROM memory WHERE namespace = :namespace AND id IN (SELECT value FROM json_each(:ids))

-- keys -- The numbers of these memories.
SELECT id, number FROM memory WHERE namespace = :namespace AND id IN (SELECT value FROM json_each(:ids))

-- merge -- The same text again: what it brought is added to the memory that is there.
UPDATE memory SET tags = :tags, files = :files, terms = :terms, metadata = :metadata, updated_at = :now,
  importance = max(importance, :importance), summary = ifnull(summary, :summary),
  source = ifnull(source, :source), expires_at = max(expires_at, :expires_at),
  valid_until = max(valid_until, :valid_until)
WHERE number = :number

-- add_near_key -- A hash that near-duplicates of a memory are likely to share.
INSERT INTO near_key (namespace, key, memory) VALUES (:namespace, :key, :memory) ON CONFLICT DO NOTHING

-- remove_near_keys -- Those hashes go with the text.
DELETE FROM near_key WHERE memory IN (SELECT value FROM json_each(:numbers))

-- keep_near_keys -- The hashes that a memory has in a run.
INSERT INTO near_kept (memory, keys) VALUES (:memory, :keys)

-- kept_near_keys -- The hashes that these memories have in runs.
SELECT memory, keys FROM near_kept WHERE memory IN (SELECT value FROM json_each(:numbers))

-- remove_kept_near_keys -- They go with the text, too.
DELETE FROM near_kept WHERE memory IN (SELECT value FROM json_each(:numbers))

-- near_keys -- The hashes that memories of a namespace have that were written a few at a time; the first few.
SELECT key, memory FROM near_key WHERE namespace = :namespace LIMIT :limit

-- near_keys_among -- Those of these hashes that memories have that were written a few at a time, and which ones.
SELECT key, memory FROM near_key
WHERE namespace = :namespace AND key IN (SELECT value FROM json_each(:keys))

-- near_runs -- The runs of a namespace, oldest first.
SELECT number, first, last, size FROM near_run WHERE namespace = :namespace ORDER BY first

-- add_near_run -- A run that has no pieces yet; its number.
INSERT INTO near_run (namespace, first, last, size) VALUES (:namespace, :first, :last, :size) RETURNING number

-- shrink_near_run -- So many of its entries are gone.
UPDATE near_run SET size = size - :removed WHERE number = :run

-- remove_near_runs -- Runs that have no pieces any more.
DELETE FROM near_run WHERE number IN (SELECT value FROM json_each(:runs))

-- add_near_piece -- Entries of a run, in order.
INSERT INTO near_piece (number, entries) VALUES (:number, :entries)

-- set_near_piece -- Some of its entries are gone, and maybe its first.
UPDATE near_piece SET number = :first, entries = :entries WHERE number = :number

-- remove_near_piece -- All of its entries are gone.
DELETE FROM near_piece WHERE number = :number

-- near_pieces -- The first few that begin in an interval, as one value, and the last of their numbers.
SELECT max(number), CAST(group_concat(entries, '') AS BLOB) FROM (
  SELECT number, entries FROM near_piece WHERE number >= :begin AND number < :end ORDER BY number LIMIT :limit)

-- remove_near_pieces -- All that begin in an interval, once they are in another run.
DELETE FROM near_piece WHERE number >= :begin AND number < :end

-- near_piece_of -- The last piece of a run that does not begin later.
SELECT number, entries FROM near_piece WHERE number >= :begin AND number <= :upto ORDER BY number DESC LIMIT 1

-- near_keys_or_pieces -- Who has one of these hashes; or the first memory of a run, and its piece that would have it.
SELECT key, memory, NULL FROM near_key
WHERE namespace = :namespace AND key IN (SELECT value FROM json_each(:keys))
UNION ALL
SELECT wanted.value, r.first, p.entries
FROM near_run r CROSS JOIN json_each(:keys) wanted CROSS JOIN near_piece p ON p.number = (
  SELECT max(x.number) FROM near_piece x
  WHERE x.number >= r.number << :bits AND x.number <= (r.number << :bits) + wanted.value)
WHERE r.namespace = :namespace

-- deleted_among -- Those of these memories that are deleted softly.
SELECT m.number FROM memory m INDEXED BY memory_aside
WHERE {may_not_hold} AND m.namespace = :namespace AND m.deleted_at IS NOT NULL
  AND m.number IN (SELECT value FROM json_each(:numbers))

-- remove_near_links -- The links to near-duplicates of a text that has changed.
DELETE FROM relation
WHERE (source = :number OR target = :number) AND type = 'near_duplicate' AND origin = 'recollect'

-- present -- A memory as it is at this moment, and the end of validity that was given for it.
SELECT {columns}, m.valid_until FROM {memories} WHERE m.number = :number

-- change -- A memory written anew, under its id.
UPDATE memory SET
  content = :content, terms = :terms, hash = :hash, created_at = :created_at, updated_at = :updated_at,
  sector = :sector, tier = :tier, language = :language, importance = :importance, salience = :salience,
  salience_at = :salience_at, token_count = :token_count, trust = :trust, speaker = :speaker, tags = :tags,
  files = :files, metadata = :metadata, source = :source, summary = :summary, valid_from = :valid_from,
  valid_until = :valid_until, expires_at = :expires_at
WHERE number = :number

-- move_to_session -- A memory goes to a place in another session.
UPDATE memory SET session = :session, position = :position WHERE number = :number

-- successor_of -- What superseded a memory.
SELECT superseded_by FROM memory WHERE namespace = :namespace AND id = :id

-- close_validity -- A memory holds no longer, because of another.
UPDATE memory SET superseded_by = :new, superseded_at = max(:at, created_at, ifnull(valid_from, :at)),
  updated_at = :now
WHERE number = :number

-- reopen -- A memory holds again.
UPDATE memory SET superseded_by = NULL, superseded_at = NULL, updated_at = :now WHERE number = :number

-- relate -- An edge; drawing it again changes nothing.
INSERT INTO relation (source, target, type, origin, created_at) VALUES (:source, :target, :type, :origin, :at)
ON CONFLICT DO NOTHING

-- unrelate -- Edges between two memories, of one type or of all.
DELETE FROM relation WHERE source = :source AND target = :target AND (:type IS NULL OR type = :type)

-- make_session -- A session comes to be when it is first named; it began with its earliest memory.
INSERT INTO session (number, namespace, id, started_at) VALUES (:number, :namespace, :id, :started_at)
ON CONFLICT (namespace, id) DO UPDATE SET started_at = min(started_at, excluded.started_at) RETURNING number

-- make_sessions -- The same, where the number of one that is there already is known.
INSERT INTO session (number, namespace, id, started_at) VALUES (:number, :namespace, :id, :started_at)
ON CONFLICT (namespace, id) DO UPDATE SET started_at = min(started_at, excluded.started_at)

-- session_number -- What the rows call a session.
SELECT number FROM session WHERE namespace = :namespace AND id = :id

-- save_session -- A session, made or written over.
INSERT INTO session (number, namespace, id, started_at, ended_at, agent, summary, summary_extracted)
VALUES (:number, :namespace, :id, :started_at, :ended_at, :agent, :summary, :extracted)
ON CONFLICT (namespace, id) DO UPDATE SET started_at = excluded.started_at, ended_at = excluded.ended_at,
  agent = excluded.agent, summary = excluded.summary, summary_extracted = excluded.summary_extracted
RETURNING number

-- make_generation -- A model that vectors are made with.
INSERT INTO generation (number, model, dimensions, fingerprint, created_at)
VALUES (:number, :model, :dimensions, :fingerprint, :now)

-- generation_number -- What the rows call a generation.
SELECT number FROM generation WHERE fingerprint = :fingerprint

-- use_generation -- The first generation of a namespace is searched at once, a further one when complete.
UPDATE namespace SET generation = ifnull(generation, :generation),
  next_generation = CASE WHEN ifnull(generation, :generation) = :generation THEN next_generation
                    ELSE :generation END
WHERE number = :namespace

-- switch_generation -- The generation that is complete is searched from now on.
UPDATE namespace SET generation = :generation, next_generation = NULL WHERE number = :namespace

-- use_weights -- Other weights are in force from now on; those that were are kept beside them.
UPDATE namespace SET tuned = :tuned, tuned_before = tuned WHERE number = :namespace AND tuned IS NOT :tuned

-- remove_other_generations -- Vectors that nobody will search again.
DELETE FROM vector WHERE namespace = :namespace AND generation <> :generation

-- remove_vectors -- The vectors of these memories.
DELETE FROM vector WHERE memory IN (SELECT value FROM json_each(:numbers))

-- count_removed -- Readers that hold vectors in memory learn that some are gone.
UPDATE namespace SET removed_vectors = removed_vectors + :count WHERE number = :namespace

-- remove_links -- What sessions did with these memories.
DELETE FROM session_link WHERE memory IN (SELECT value FROM json_each(:numbers))

-- remove_relations -- The edges of these memories.
DELETE FROM relation WHERE source IN (SELECT value FROM json_each(:numbers))
  OR target IN (SELECT value FROM json_each(:numbers))

-- bypass -- What these memories had superseded is superseded by what followed them; or it holds again.
UPDATE memory AS m SET
  superseded_at = CASE WHEN z.superseded_by IS NULL THEN NULL ELSE m.superseded_at END,
  superseded_by = z.superseded_by
FROM memory z
WHERE m.namespace = :namespace AND z.namespace = m.namespace AND z.id = m.superseded_by
  AND z.number IN (SELECT value FROM json_each(:numbers))
  AND m.number NOT IN (SELECT value FROM json_each(:numbers))

-- release -- What is superseded by one of these, in a circle, holds again.
UPDATE memory SET superseded_by = NULL, superseded_at = NULL
WHERE namespace = :namespace AND number NOT IN (SELECT value FROM json_each(:numbers)) AND superseded_by IN (
  SELECT z.id FROM memory z
  WHERE z.namespace = :namespace AND z.number IN (SELECT value FROM json_each(:numbers)))

-- successions -- What superseded what.
SELECT id, superseded_by FROM memory WHERE namespace = :namespace AND superseded_by IS NOT NULL

-- clear_extracts -- A summary that was drawn from these memories goes with them.
UPDATE session SET summary = NULL, summary_extracted = 0
WHERE summary_extracted AND number IN (
  SELECT m.session FROM memory m WHERE m.number IN (SELECT value FROM json_each(:numbers)))

-- empty_sessions -- Which of these sessions have no memories.
SELECT s.number FROM session s
WHERE s.namespace = :namespace AND s.id IN (SELECT value FROM json_each(:ids))
  AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.session = s.number)

-- remove_links_of_sessions -- What these sessions did with memories.
DELETE FROM session_link WHERE session IN (SELECT value FROM json_each(:numbers))

-- remove_these_sessions -- Sessions, with their summaries.
DELETE FROM session WHERE number IN (SELECT value FROM json_each(:numbers))

-- remove_sessions -- Every session of a namespace, once its memories are gone.
DELETE FROM session WHERE namespace = :namespace

-- count_entries -- The keyword entries of these memories.
SELECT count(*) FROM memory_words_docsize WHERE id IN (SELECT value FROM json_each(:numbers))

-- remove_memories -- The rows themselves; the triggers remove their keyword entries.
DELETE FROM memory WHERE number IN (SELECT value FROM json_each(:numbers))

-- set_deleted -- Deleted softly, or restored.
UPDATE memory SET deleted_at = :at, updated_at = :now
WHERE namespace = :namespace AND id IN (SELECT value FROM json_each(:ids)) AND (deleted_at IS NULL) <> (:at IS NULL)

-- save_document -- A document, made or written over.
INSERT INTO document (number, namespace, id, name, title, hash, created_at, updated_at)
VALUES (:number, :namespace, :id, :name, :title, :hash, :created_at, :updated_at)
ON CONFLICT (namespace, name) DO UPDATE SET
  title = excluded.title, hash = excluded.hash, updated_at = excluded.updated_at

-- copy_document -- A document as it was, in the place of the one of that name that is there.
INSERT INTO document (number, namespace, id, name, title, hash, created_at, updated_at)
VALUES (:number, :namespace, :id, :name, :title, :hash, :created_at, :updated_at)
ON CONFLICT (namespace, name) DO UPDATE SET id = excluded.id, title = excluded.title, hash = excluded.hash,
  created_at = excluded.created_at, updated_at = excluded.updated_at

-- document_number -- What the rows call a document.
SELECT number FROM document WHERE namespace = :namespace AND name = :name

-- remove_empty_documents -- Documents whose last passage was forgotten; not the one that gets new ones.
DELETE FROM document WHERE namespace = :namespace AND number IS NOT :replaced
  AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.document = document.number)

-- passages -- The passages of a document.
SELECT number FROM memory WHERE document = :document

-- remove_document -- A document whose passages are gone.
DELETE FROM document WHERE number = :document

-- check_entries -- Memories without a keyword entry.
SELECT count(*) FROM memory WHERE number NOT IN (SELECT id FROM memory_words_docsize)

-- check_ghosts -- Keyword entries without a memory.
SELECT count(*) FROM memory_words_docsize WHERE id NOT IN (SELECT number FROM memory)

-- check_orphan_vectors -- Vectors without a memory, or in another namespace than theirs.
SELECT count(*) FROM vector v LEFT JOIN memory m ON m.number = v.memory
WHERE m.number IS NULL OR m.namespace <> v.namespace

-- check_vector_sizes -- Vectors that do not have their generation's dimensions.
SELECT count(*) FROM vector v JOIN generation g ON g.number = v.generation
WHERE length(v.embedding) <> 4 * g.dimensions

-- check_relations -- Edges of which an end is gone, or that cross namespaces.
SELECT count(*) FROM relation r LEFT JOIN memory a ON a.number = r.source LEFT JOIN memory b ON b.number = r.target
WHERE a.number IS NULL OR b.number IS NULL OR a.namespace <> b.namespace

-- check_links -- Links of sessions to memories that are gone, or that cross namespaces.
SELECT count(*) FROM session_link l
LEFT JOIN memory m ON m.number = l.memory LEFT JOIN session s ON s.number = l.session
WHERE m.number IS NULL OR s.number IS NULL OR m.namespace <> s.namespace

-- check_near_keys -- Near-duplicate keys of memories that are gone, and how many more runs have than memories.
SELECT (SELECT count(*) FROM near_key WHERE memory NOT IN (SELECT number FROM memory))
  + (SELECT count(*) FROM near_kept WHERE memory NOT IN (SELECT number FROM memory))
  + abs((SELECT ifnull(sum(length(keys)), 0) FROM near_kept)
    - (SELECT ifnull(sum(length(entries)), 0) FROM near_piece)) / 8

-- check_successors -- Memories superseded by something that is gone.
SELECT count(*) FROM memory m LEFT JOIN memory z ON z.namespace = m.namespace AND z.id = m.superseded_by
WHERE m.superseded_by IS NOT NULL AND z.number IS NULL

-- check_sessions -- Memories of a session or document that is gone or belongs to another namespace.
SELECT count(*) FROM memory m
LEFT JOIN session s ON s.number = m.session LEFT JOIN document d ON d.number = m.document
WHERE (m.session IS NOT NULL AND s.namespace IS NOT m.namespace)
   OR (m.document IS NOT NULL AND d.namespace IS NOT m.namespace)

-- mend_vectors -- Vectors that no search may use.
DELETE FROM vector WHERE number IN (
  SELECT v.number FROM vector v LEFT JOIN memory m ON m.number = v.memory
  LEFT JOIN generation g ON g.number = v.generation
  WHERE m.number IS NULL OR m.namespace <> v.namespace OR length(v.embedding) <> 4 * ifnull(g.dimensions, 0))

-- mend_relations -- Edges that lead nowhere.
DELETE FROM relation WHERE source NOT IN (SELECT number FROM memory) OR target NOT IN (SELECT number FROM memory)
  OR (SELECT namespace FROM memory WHERE number = source) <> (SELECT namespace FROM memory WHERE number = target)

-- mend_links -- Links that lead nowhere.
DELETE FROM session_link WHERE memory NOT IN (SELECT number FROM memory)
  OR session NOT IN (SELECT number FROM session)
  OR (SELECT namespace FROM memory WHERE number = memory) <> (SELECT namespace FROM session WHERE number = session)

-- mend_successors -- What was superseded by something that is gone holds again.
UPDATE memory AS m SET superseded_by = NULL, superseded_at = NULL WHERE m.superseded_by IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM memory z WHERE z.namespace = m.namespace AND z.id = m.superseded_by)

-- mend_sessions -- A memory outlives its session.
UPDATE memory SET session = NULL, position = NULL
WHERE session IS NOT NULL AND (SELECT namespace FROM session s WHERE s.number = memory.session) IS NOT namespace

-- mend_documents -- A passage outlives its document.
UPDATE memory SET document = NULL
WHERE document IS NOT NULL AND (SELECT namespace FROM document d WHERE d.number = memory.document) IS NOT namespace

-- mend_namespaces -- Readers that hold vectors in memory read them anew.
UPDATE namespace SET removed_vectors = removed_vectors + 1000000000, languages = (
  SELECT ifnull(group_concat(DISTINCT m.language), '') FROM memory m WHERE m.namespace = namespace.number)

-- texts -- Every memory's text, for analysing it anew.
SELECT m.number, m.namespace, m.content, m.speaker, m.language, m.tags, m.files, m.headings, m.kind, d.title, m.terms
FROM memory m LEFT JOIN document d ON d.number = m.document WHERE m.number > :after ORDER BY m.number LIMIT :limit

-- set_terms -- A memory's terms, analysed anew; the triggers write its keyword entry.
UPDATE memory SET terms = :terms WHERE number = :number

-- dump_sessions -- Every session of a namespace.
SELECT id, agent, started_at, ended_at, summary, nullif(summary_extracted, 0) AS summary_extracted
FROM session WHERE namespace = :namespace ORDER BY number

-- dump_documents -- Every document of a namespace.
SELECT id, name, title, hash, created_at, updated_at FROM document WHERE namespace = :namespace ORDER BY number

-- dump_memories -- Every memory of a namespace, deleted ones too.
SELECT m.id, m.kind, m.content, m.created_at, m.updated_at, m.accessed_at, m.sector, m.tier,
  m.language, m.importance, m.salience, m.salience_at, m.access_count, m.token_count, m.trust, s.id AS session,
  m.position, m.speaker, m.tags, m.files, m.headings, m.metadata, m.source, m.summary, m.valid_from, m.valid_until,
  m.superseded_by, m.superseded_at, m.expires_at, m.deleted_at, d.name AS document
FROM memory m LEFT JOIN session s ON s.number = m.session LEFT JOIN document d ON d.number = m.document
WHERE m.namespace = :namespace ORDER BY m.number

-- dump_relations -- Every edge of a namespace.
SELECT a.id AS source, b.id AS target, r.type AS relation, r.origin AS origin, r.created_at AS at FROM relation r
JOIN memory a ON a.number = r.source JOIN memory b ON b.number = r.target
WHERE a.namespace = :namespace ORDER BY a.number, b.number, r.type

-- dump_links -- What the sessions of a namespace did with its memories.
SELECT s.id AS session, m.id AS memory, l.usage AS usage, l.at AS at FROM session_link l
JOIN session s ON s.number = l.session JOIN memory m ON m.number = l.memory
WHERE s.namespace = :namespace ORDER BY m.number, s.number, l.usage

-- dump_generations -- The models that a namespace has vectors of; the one that is searched first, with the weights.
SELECT g.model AS model, g.dimensions AS dimensions, g.fingerprint AS fingerprint,
  CASE g.number WHEN n.generation THEN 'searched' WHEN n.next_generation THEN 'next' END AS role,
  CASE g.number WHEN n.generation THEN n.tuned END AS tuned,
  CASE g.number WHEN n.generation THEN n.tuned_before END AS tuned_before
FROM namespace n JOIN generation g
WHERE n.number = :namespace AND (g.number IN (n.generation, n.next_generation)
  OR EXISTS (SELECT 1 FROM vector v WHERE v.namespace = n.number AND v.generation = g.number))
ORDER BY g.number = n.generation DESC, g.fingerprint

-- dump_vectors -- Every vector of a namespace, and the hash of the text that it was made from.
SELECT m.id AS memory, g.fingerprint AS generation, m.hash AS hash, v.embedding AS embedding FROM vector v
JOIN memory m ON m.number = v.memory JOIN generation g ON g.number = v.generation
WHERE v.namespace = :namespace ORDER BY m.number, g.fingerprint

-- undump_uses_vectors -- Whether a namespace has a generation that is searched.
SELECT generation IS NOT NULL FROM namespace WHERE number = :namespace

-- undump_dimensions -- How long the vectors of a generation are.
SELECT dimensions FROM generation WHERE number = :generation

-- undump_session -- A session as it was, unless there is one of that id.
INSERT INTO session (number, namespace, id, started_at, ended_at, agent, summary, summary_extracted)
VALUES (:number, :namespace, :id, :started_at, :ended_at, :agent, :summary, :extracted) ON CONFLICT DO NOTHING

-- undump_document -- A document as it was, unless there is one of that name or id.
INSERT INTO document (number, namespace, id, name, title, hash, created_at, updated_at)
VALUES (:number, :namespace, :id, :name, :title, :hash, :created_at, :updated_at) ON CONFLICT DO NOTHING

-- undump_texts -- The numbers of these memories, and the hashes of their texts.
SELECT id, number, hash FROM memory WHERE namespace = :namespace AND id IN (SELECT value FROM json_each(:ids))

-- undump_vectors -- Which vectors these memories have.
SELECT memory, generation FROM vector WHERE memory IN (SELECT value FROM json_each(:numbers))

-- undump_successor -- What was superseded by a memory that did not come along is superseded by another, or holds.
UPDATE memory SET superseded_by = :new, superseded_at = CASE WHEN :new IS NULL THEN NULL ELSE superseded_at END
WHERE namespace = :namespace AND superseded_by = :old

-- undump_link -- What a session did with a memory, as it was.
INSERT INTO session_link (session, memory, usage, at) VALUES (:session, :memory, :usage, :at) ON CONFLICT DO NOTHING

-- contents -- How many records of each type a namespace has, as an export counts them.
SELECT (SELECT count(*) FROM generation g WHERE g.number IN (n.generation, n.next_generation)
    OR EXISTS (SELECT 1 FROM vector v WHERE v.namespace = n.number AND v.generation = g.number)),
  (SELECT count(*) FROM session s WHERE s.namespace = n.number),
  (SELECT count(*) FROM document d WHERE d.namespace = n.number),
  (SELECT count(*) FROM memory m WHERE m.namespace = n.number),
  (SELECT count(*) FROM relation r JOIN memory m ON m.number = r.source WHERE m.namespace = n.number),
  (SELECT count(*) FROM session_link l JOIN session s ON s.number = l.session WHERE s.namespace = n.number),
  (SELECT count(*) FROM vector v WHERE v.namespace = n.number)
FROM namespace n WHERE n.name = :namespace

-- copy_generations -- Which generation of a namespace is searched and which one is being filled, as it was.
UPDATE namespace SET generation = :searched, next_generation = :next WHERE number = :namespace

-- copy_weights -- Which weights a namespace is tuned to, and which were in force before, as it was.
UPDATE namespace SET tuned = :tuned, tuned_before = :before WHERE number = :namespace

-- copy_session -- A session as it was, in the place of the one that is there.
INSERT INTO session (number, namespace, id, started_at, ended_at, agent, summary, summary_extracted)
VALUES (:number, :namespace, :id, :started_at, :ended_at, :agent, :summary, :extracted)
ON CONFLICT (namespace, id) DO UPDATE SET started_at = excluded.started_at, ended_at = excluded.ended_at,
  agent = excluded.agent, summary = excluded.summary, summary_extracted = excluded.summary_extracted

-- copy_sessions_known -- What the rows call these sessions.
SELECT id, number FROM session WHERE namespace = :namespace AND id IN (SELECT value FROM json_each(:ids))

-- copy_memory -- A memory as it was, in the place of the one that is there.
UPDATE memory SET
  kind = :kind, expires_at = :expires_at, valid_from = :valid_from, valid_until = :valid_until,
  superseded_by = :superseded_by, superseded_at = :superseded_at, deleted_at = :deleted_at,
  created_at = :created_at, session = :session, position = :position, sector = :sector, tier = :tier,
  language = :language, speaker = :speaker, importance = :importance, salience = :salience,
  salience_at = :salience_at, access_count = :access_count, accessed_at = :accessed_at,
  updated_at = :updated_at, token_count = :token_count, trust = :trust, document = :document, hash = :hash,
  tags = :tags, files = :files, headings = :headings, metadata = :metadata, source = :source,
  summary = :summary, content = :content, terms = :terms
WHERE number = :number

-- copy_relation -- An edge as it was, in the place of the one that is there.
INSERT INTO relation (source, target, type, origin, created_at) VALUES (:source, :target, :type, :origin, :at)
ON CONFLICT (source, target, type) DO UPDATE SET origin = excluded.origin, created_at = excluded.created_at

-- copy_link -- What a session did with a memory, as it was, in the place of what is there.
INSERT INTO session_link (session, memory, usage, at) VALUES (:session, :memory, :usage, :at)
ON CONFLICT (memory, session, usage) DO UPDATE SET at = excluded.at

-- has_vector -- Whether a memory has a vector of this generation.
SELECT 1 FROM vector WHERE memory = :memory AND generation = :generation

-- to_forget_all -- Every memory of a namespace, or those that have expired.
SELECT number FROM memory WHERE namespace = :namespace AND (NOT :expired OR expires_at <= :now)

-- missing_successors -- Memories of a namespace that are superseded by something that is not there.
SELECT count(*) FROM memory m LEFT JOIN memory z ON z.namespace = m.namespace AND z.id = m.superseded_by
WHERE m.namespace = :namespace AND m.superseded_by IS NOT NULL AND z.number IS NULL

-- count_created -- How many of these memories were made in a session.
SELECT count(*) FROM memory WHERE number IN (SELECT value FROM json_each(:numbers)) AND session IS NOT NULL
