-- scope -- The memories that may answer; every candidate query contains it.
m.namespace = :namespace AND m.deleted_at IS NULL
AND (m.expires_at IS NULL OR m.expires_at > :now)
AND {within}

-- within -- What a scope asks for, whether it may still answer or not; {filters} are those that were given.
m.namespace = :namespace AND m.kind = ANY (:kinds::text[]) {filters}

-- filter_since -- Not older than this.
AND m.created_at >= :since

-- filter_until -- Older than this.
AND m.created_at < :until

-- filter_older_than -- Before this one in the order of time: the next page of a list.
AND (m.created_at < :older_than OR (m.created_at = :older_than AND m.number < coalesce((
  SELECT x.number FROM recollect.memory x WHERE x.namespace = :namespace AND x.id = :older_than_id),
  9223372036854775807)))

-- filter_as_of -- Believed at that moment: known by then, valid then, not yet superseded.
AND m.created_at <= :as_of AND coalesce(m.valid_from, m.created_at) <= :as_of
AND (m.valid_until IS NULL OR m.valid_until > :as_of)
AND (m.superseded_at IS NULL OR m.superseded_at > :as_of)

-- filter_current -- What holds now.
AND m.superseded_by IS NULL AND (m.valid_until IS NULL OR m.valid_until > :now)
AND (m.valid_from IS NULL OR m.valid_from <= :now)

-- filter_sectors -- Of these sectors.
AND m.sector = ANY (:sectors::text[])

-- filter_tiers -- Of these tiers.
AND m.tier = ANY (:tiers::text[])

-- filter_languages -- In these languages.
AND m.language = ANY (:languages::text[])

-- filter_speakers -- Said by these.
AND m.speaker = ANY (:speakers::text[])

-- filter_sessions -- Made in these sessions, or said again or changed there.
AND m.number IN (
  SELECT x.number FROM recollect.session s
  JOIN recollect.memory x ON x.namespace = s.namespace AND x.session = s.number
  WHERE s.namespace = :namespace AND x.namespace = :namespace AND s.id = ANY (:sessions::text[])
  UNION SELECT l.memory FROM recollect.session s
  JOIN recollect.session_link l ON l.namespace = s.namespace AND l.session = s.number
  WHERE s.namespace = :namespace AND l.namespace = :namespace AND s.id = ANY (:sessions::text[])
    AND l.usage IN ('reinforced', 'updated'))

-- filter_documents -- Passages of these documents.
AND m.document IN (
  SELECT d.number FROM recollect.document d
  WHERE d.namespace = :namespace AND d.name = ANY (:documents::text[]))

-- filter_tags -- With all of these tags.
AND m.tags @> :tags::text[]

-- filter_min_salience -- Salient enough.
AND {salience} >= :min_salience

-- salience -- What is left of a memory's salience now: it decays by sector, in days since it was last raised.
(m.salience * exp(
  -greatest(0, extract(epoch FROM :now::timestamptz - m.salience_at)::double precision) / 86400 * CASE m.sector
  WHEN 'emotional' THEN 0.003 WHEN 'semantic' THEN 0.005 WHEN 'reflective' THEN 0.008
  WHEN 'procedural' THEN 0.01 ELSE 0.02 END::double precision))

-- candidate -- What ranking needs to know of a candidate, before its text is read.
m.number, m.session, m.position, m.speaker, m.token_count, m.created_at

-- columns -- A memory as it is read back.
m.number, m.namespace, m.id, m.content, m.created_at, m.updated_at, m.accessed_at, m.sector, m.tier, m.kind,
m.importance, {salience}, m.access_count, m.token_count, m.language, m.tags, m.files, m.summary, m.speaker,
s.id, m.metadata, m.source, m.trust, m.valid_from, least(m.valid_until, m.superseded_at), m.superseded_by,
m.expires_at, m.deleted_at, d.name, m.headings

-- memories -- A memory with its session and document.
recollect.memory m
LEFT JOIN recollect.session s ON s.namespace = m.namespace AND s.number = m.session AND s.namespace = :namespace
LEFT JOIN recollect.document d ON d.namespace = m.namespace AND d.number = m.document AND d.namespace = :namespace

-- searched -- The generation of vectors that is searched in a namespace, if it is the one that is asked for.
(SELECT g.number FROM recollect.generation g
 JOIN recollect.namespace n ON n.namespace = g.namespace AND n.generation = g.number
 WHERE g.namespace = :namespace AND n.namespace = :namespace AND g.fingerprint = :fingerprint)

-- facts -- What must be known of a namespace before it is searched, which generation has an index, and how many
-- memories there are.
SELECT n.languages, n.indexed_generation, n.entries, n.tuned, n.tuned_before,
  a.number, a.model, a.dimensions, a.fingerprint, b.number, b.model, b.dimensions, b.fingerprint
FROM recollect.namespace n
LEFT JOIN recollect.generation a
  ON a.namespace = n.namespace AND a.number = n.generation AND a.namespace = :namespace
LEFT JOIN recollect.generation b
  ON b.namespace = n.namespace AND b.number = n.next_generation AND b.namespace = :namespace
WHERE n.namespace = :namespace

-- times -- How often a word stands in a text. PostgreSQL gives no such number, but its rank of a single word is
-- 0.1 times the sum of 1/i² over its occurrences, divided by the limit of that sum, 1.644934: that sum is undone.
-- (Of a beginning that several words share the sum may pass the limit; then it is near enough itself.) The rank
-- of a phrase says how near its words are to each other: one that is there counts as said once.
CASE WHEN numnode(a.word) > 1 THEN 1 WHEN r.sum < 1.6449 THEN floor(1 / (1.6449340668482264 - r.sum)) ELSE r.sum END

-- match -- Live memories in scope that contain any of the words, by BM25, best first, and how near each is.
-- A word counts by how rare it is among the memories of the namespace; length is measured against their mean
-- (the namespace counts as a word of each, as it does in SQLite, so that both give the same scores).
WITH counted AS MATERIALIZED (
  SELECT n.entries, 1 + n.words::double precision / greatest(n.entries, 1) AS mean_length
  FROM recollect.namespace n WHERE n.namespace = :namespace
), occurrence AS MATERIALIZED (
  SELECT a.place, m.number, m.length, {times} AS times,
    (:phrases::tsquery IS NULL OR m.words @@ :phrases::tsquery) AND {scope} AS inside
  FROM unnest(:words::tsquery[]) WITH ORDINALITY AS a (word, place)
  JOIN recollect.memory m ON m.namespace = :namespace AND m.words @@ (:here::tsquery && a.word)
  CROSS JOIN LATERAL (SELECT ts_rank(m.words, a.word)::double precision * 16.449340668482264 AS sum) r
), rarity AS MATERIALIZED (
  SELECT o.place, ln(greatest(
    1.000001, (c.entries - count(*) + 0.5) / (count(*) + 0.5)))::double precision AS weight
  FROM occurrence o CROSS JOIN counted c GROUP BY o.place, c.entries
), best AS MATERIALIZED (
  SELECT o.number,
    sum(r.weight * o.times * 2.2 / (o.times + 0.3 + 0.9 * ((o.length + 1) / c.mean_length))) AS score
  FROM occurrence o JOIN rarity r ON r.place = o.place CROSS JOIN counted c
  WHERE o.inside GROUP BY o.number ORDER BY score DESC, o.number LIMIT :limit
)
SELECT b.score, -(v.embedding <#> :vector::vector), {candidate}
FROM best b JOIN recollect.memory m ON m.namespace = :namespace AND m.number = b.number
LEFT JOIN recollect.vector v ON v.namespace = :namespace AND v.memory = b.number AND v.generation = {searched}
ORDER BY b.score DESC, b.number

-- checked -- Which of the nearest are in scope, and whether that is enough. Whoever asks `enough` joins it: a
-- condition by the side would be looked at when workers for the rest are running already, and have nothing to do.
inside AS MATERIALIZED (
  SELECT -n.distance AS nearness, {candidate} FROM nearest n
  JOIN recollect.memory m ON m.namespace = :namespace AND m.number = n.number WHERE {scope}
), enough AS MATERIALIZED (
  SELECT (SELECT count(*) FROM inside) >= :limit OR (SELECT count(*) FROM nearest) < :reach AS yes
)
SELECT i.* FROM enough e JOIN inside i ON e.yes
UNION ALL
SELECT -b.distance, {candidate} FROM enough e CROSS JOIN LATERAL (
  SELECT v.memory AS number, v.embedding <#> :vector::vector AS distance
  FROM recollect.vector v JOIN recollect.memory m ON m.namespace = v.namespace AND m.number = v.memory
  WHERE NOT e.yes AND v.namespace = :namespace AND v.generation = {searched} AND {scope}
  ORDER BY distance, v.memory LIMIT :limit
) b JOIN recollect.memory m ON m.namespace = :namespace AND m.number = b.number

-- near -- The nearest live memories in scope, exactly. The nearest few of all are checked against the scope; only
-- when too many of them were outside is every vector in scope looked at.
WITH nearest AS MATERIALIZED (
  SELECT v.memory AS number, v.embedding <#> :vector::vector AS distance FROM recollect.vector v
  WHERE v.namespace = :namespace AND v.generation = {searched} ORDER BY distance, v.memory LIMIT :reach
), {checked}
ORDER BY nearness DESC, number LIMIT :limit

-- near_in_few -- The same in a namespace that has few memories, where making a longer plan takes longer than it saves.
SELECT -(v.embedding <#> :vector::vector) AS nearness, {candidate}
FROM recollect.vector v JOIN recollect.memory m ON m.namespace = v.namespace AND m.number = v.memory
WHERE v.namespace = :namespace AND v.generation = {searched} AND {scope}
ORDER BY nearness DESC, m.number LIMIT :limit

-- near_within -- The same where filters may leave few memories: if they do, the vectors of these alone are looked at.
WITH few AS MATERIALIZED (
  SELECT m.number FROM recollect.memory m WHERE {scope} LIMIT :few
), many AS MATERIALIZED (
  SELECT count(*) >= :few AS yes FROM few
), nearest AS MATERIALIZED (
  SELECT n.number, n.distance FROM many JOIN (
    SELECT v.memory AS number, v.embedding <#> :vector::vector AS distance FROM recollect.vector v
    WHERE v.namespace = :namespace AND v.generation = {searched} ORDER BY distance, v.memory LIMIT :reach
  ) n ON many.yes
), {checked}
UNION ALL
SELECT -b.distance, {candidate} FROM many CROSS JOIN LATERAL (
  SELECT f.number, v.embedding <#> :vector::vector AS distance FROM few f
  JOIN recollect.vector v ON v.namespace = :namespace AND v.memory = f.number AND v.generation = {searched}
  WHERE NOT many.yes ORDER BY distance, f.number LIMIT :limit
) b JOIN recollect.memory m ON m.namespace = :namespace AND m.number = b.number
ORDER BY nearness DESC, number LIMIT :limit

-- near_by_index -- The nearest live memories in scope, found by the index of a large namespace, then put in
-- their exact order.
WITH best AS MATERIALIZED (
  SELECT v.memory, v.embedding
  FROM recollect.vector v JOIN recollect.memory m ON m.namespace = v.namespace AND m.number = v.memory
  WHERE v.namespace = :namespace AND v.generation = :indexed AND {scope}
  ORDER BY (v.embedding::halfvec({index_dimensions})) <#> :vector::halfvec({index_dimensions}) LIMIT :reach
)
SELECT -(b.embedding <#> :vector::vector), {candidate}
FROM best b JOIN recollect.memory m ON m.namespace = :namespace AND m.number = b.memory
ORDER BY b.embedding <#> :vector::vector, m.number LIMIT :limit

-- substring -- Live memories in scope that contain the text as it stands, newest first.
SELECT 1.0::double precision, {candidate} FROM recollect.memory m
WHERE m.content COLLATE "C" ILIKE :pattern AND {scope}
ORDER BY m.created_at DESC, m.number LIMIT :limit

-- load -- The winners, with their session, what superseded them, how many relations they have, and their document's title.
SELECT {columns}, s.started_at, s.ended_at, s.agent, s.summary, z.id, z.content, z.created_at,
  (SELECT count(*) FROM recollect.relation r JOIN recollect.memory x ON x.namespace = r.namespace AND x.number = r.target
   WHERE r.namespace = :namespace AND x.namespace = :namespace AND r.source = m.number AND x.deleted_at IS NULL)
  + (SELECT count(*) FROM recollect.relation r JOIN recollect.memory x ON x.namespace = r.namespace AND x.number = r.source
     WHERE r.namespace = :namespace AND x.namespace = :namespace AND r.target = m.number AND x.deleted_at IS NULL),
  d.title
FROM {memories}
LEFT JOIN recollect.memory z ON z.namespace = m.namespace AND z.id = m.superseded_by AND z.namespace = :namespace
WHERE m.namespace = :namespace AND m.number = ANY (:numbers::bigint[])

-- neighbours -- What was said just before and after these memories in their sessions.
SELECT centre.number, {columns}
FROM recollect.memory centre JOIN {memories} ON m.namespace = centre.namespace AND m.session = centre.session
  AND m.position BETWEEN centre.position - :reach AND centre.position + :reach AND m.number <> centre.number
WHERE centre.namespace = :namespace AND m.namespace = :namespace
  AND centre.number = ANY (:numbers::bigint[]) AND m.deleted_at IS NULL
  AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY centre.number, m.position

-- get -- These memories, by id, deleted ones too.
SELECT {columns} FROM {memories} WHERE m.namespace = :namespace AND m.id = ANY (:ids::text[])

-- ids_ending -- Ids that end so, the shortest first: people type the last few characters.
SELECT m.id FROM recollect.memory m
WHERE m.namespace = :namespace AND m.id ILIKE :pattern ORDER BY length(m.id), m.number LIMIT 3

-- before -- What was remembered before a memory, nearest first.
SELECT {columns} FROM {memories}
WHERE m.namespace = :namespace AND m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND m.kind = 'memory' AND (m.created_at, m.number) < (:at, :number)
ORDER BY m.created_at DESC, m.number DESC LIMIT :limit

-- after -- What was remembered after a memory, nearest first.
SELECT {columns} FROM {memories}
WHERE m.namespace = :namespace AND m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND m.kind = 'memory' AND (m.created_at, m.number) > (:at, :number)
ORDER BY m.created_at, m.number LIMIT :limit

-- in_scope -- Live memories in scope, newest first.
SELECT {columns} FROM {memories} WHERE {scope} ORDER BY m.created_at DESC, m.number DESC LIMIT :limit

-- sessions -- Sessions, newest first, with the number of live memories made in each.
SELECT s.id, s.namespace, s.started_at, s.ended_at, s.agent, s.summary,
  (SELECT count(*) FROM recollect.memory m
   WHERE m.namespace = :namespace AND m.session = s.number AND m.deleted_at IS NULL)
FROM recollect.session s
WHERE s.namespace = :namespace AND (:ids::text[] IS NULL OR s.id = ANY (:ids::text[]))
  AND (:since::timestamptz IS NULL OR coalesce(s.ended_at, s.started_at) >= :since)
  AND (:until::timestamptz IS NULL OR s.started_at < :until)
  AND (:older_than::timestamptz IS NULL OR s.started_at < :older_than
    OR (s.started_at = :older_than AND s.number < coalesce((
      SELECT x.number FROM recollect.session x WHERE x.namespace = :namespace AND x.id = :older_than_id),
      9223372036854775807)))
ORDER BY s.started_at DESC, s.number DESC LIMIT :limit

-- last_use -- The session that used a memory last, and how.
SELECT s.id, use.usage,
  (SELECT count(*) FROM (
     SELECT x.number FROM recollect.memory x WHERE x.namespace = :namespace AND x.session = s.number
     UNION SELECT l.memory FROM recollect.session_link l
     WHERE l.namespace = :namespace AND l.session = s.number) touched)
FROM (
  SELECT l.session, l.usage, l.at, 1 AS later FROM recollect.session_link l
  JOIN recollect.memory m ON m.namespace = l.namespace AND m.number = l.memory
  WHERE l.namespace = :namespace AND m.namespace = :namespace AND m.id = :id
  UNION ALL SELECT m.session, 'created', m.created_at, 0 FROM recollect.memory m
  WHERE m.namespace = :namespace AND m.id = :id AND m.session IS NOT NULL
) use JOIN recollect.session s ON s.namespace = :namespace AND s.number = use.session
ORDER BY use.later DESC, use.at DESC, use.session DESC LIMIT 1

-- relations -- The edges of these memories, both ways.
SELECT DISTINCT a.id, b.id, r.type, r.origin, r.created_at
FROM recollect.memory m
JOIN recollect.relation r ON r.namespace = m.namespace AND (r.source = m.number OR r.target = m.number)
JOIN recollect.memory a ON a.namespace = r.namespace AND a.number = r.source
JOIN recollect.memory b ON b.namespace = r.namespace AND b.number = r.target
WHERE m.namespace = :namespace AND r.namespace = :namespace AND a.namespace = :namespace
  AND b.namespace = :namespace AND m.id = ANY (:ids::text[])
ORDER BY r.created_at, a.id, b.id, r.type LIMIT :limit

-- history -- What a memory superseded and what superseded it, the nearest steps, itself too, in the order of time.
WITH RECURSIVE later (id, steps) AS (
  SELECT :id::text COLLATE "C", 0 UNION
  SELECT x.superseded_by, later.steps + 1 FROM later JOIN recollect.memory x ON x.id = later.id
  WHERE x.namespace = :namespace AND x.superseded_by IS NOT NULL AND later.steps < :limit
), earlier (id, steps) AS (
  SELECT :id::text COLLATE "C", 0 UNION
  SELECT x.id, earlier.steps + 1 FROM earlier JOIN recollect.memory x ON x.superseded_by = earlier.id
  WHERE x.namespace = :namespace AND earlier.steps < :limit
), nearest (id) AS (
  SELECT id FROM (SELECT * FROM later UNION ALL SELECT * FROM earlier) found
  GROUP BY id ORDER BY min(steps), id LIMIT :limit
)
SELECT {columns} FROM {memories}
WHERE m.namespace = :namespace AND m.id IN (SELECT id FROM nearest)
  AND (m.id = :id OR (m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)))
ORDER BY m.created_at, m.number

-- documents -- The documents of a namespace, by name.
SELECT d.id, d.name, d.title,
  (SELECT count(*) FROM recollect.memory m WHERE m.namespace = :namespace AND m.document = d.number),
  d.created_at, d.updated_at, d.hash
FROM recollect.document d
WHERE d.namespace = :namespace AND (:name::text IS NULL OR d.name = :name) ORDER BY d.name

-- keys_of -- The memories, live or not, that these ids name.
SELECT m.number FROM recollect.memory m WHERE m.namespace = :namespace AND m.id = ANY (:ids::text[])

-- make_namespace -- A namespace comes to be when it is first written to.
INSERT INTO recollect.namespace (namespace) VALUES (:namespace) ON CONFLICT (namespace) DO NOTHING

-- namespace -- What a writer must know of its namespace; it is the writer's until the transaction ends.
SELECT namespace, languages, generation, next_generation,
  last_memory, last_session, last_document, last_generation
FROM recollect.namespace WHERE namespace = :namespace FOR UPDATE

-- settle -- What a writer leaves behind: the last numbers that it gave, and how its memories are counted.
UPDATE recollect.namespace SET last_memory = :memory, last_session = :session, last_document = :document,
  last_generation = :generation, entries = entries + :entries, words = words + :words
WHERE namespace = :namespace

-- learn_languages -- The languages that the memories of a namespace are stemmed in.
UPDATE recollect.namespace SET languages = :languages WHERE namespace = :namespace

-- same_texts -- Live memories that say the same as one of these, by the hash of their text, the oldest first.
SELECT m.hash, m.number, m.id, m.content, m.language, m.tags, m.files, m.metadata FROM recollect.memory m
WHERE m.namespace = :namespace AND m.hash = ANY (:hashes::bytea[])
  AND m.speaker IS NULL AND m.kind = 'memory' AND m.deleted_at IS NULL AND m.superseded_by IS NULL
  AND (m.valid_until IS NULL OR m.valid_until > :now) AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY m.number

-- similar_texts -- Live memories that share a near-duplicate key, the newest few of each key.
SELECT found.key, found.number, found.id, found.content, found.language FROM (
  SELECT k.key, m.number, m.id, m.content, m.language,
    row_number() OVER (PARTITION BY k.key ORDER BY m.number DESC) AS place
  FROM recollect.near_key k JOIN recollect.memory m ON m.namespace = k.namespace AND m.number = k.memory
  WHERE k.namespace = :namespace AND m.namespace = :namespace AND k.key = ANY (:keys::bigint[])
    AND m.deleted_at IS NULL
) found WHERE found.place <= :most ORDER BY found.key, found.place

-- add_memory -- A new memory, with its keyword entry.
INSERT INTO recollect.memory (
  number, namespace, kind, expires_at, valid_from, valid_until, superseded_by, superseded_at, deleted_at,
  created_at, session, position, sector, tier, language, speaker, importance, salience, salience_at,
  access_count, accessed_at, updated_at, token_count, trust, document, id, hash, tags, files, headings,
  metadata, source, summary, content, terms, length
) VALUES (
  :number, :namespace, :kind, :expires_at, :valid_from, :valid_until, :superseded_by, :superseded_at, :deleted_at,
  :created_at, :session, :position, :sector, :tier, :language, :speaker, :importance, :salience, :salience_at,
  :access_count, :accessed_at, :updated_at, :token_count, :trust, :document, :id, :hash, :tags::text[],
  :files::text[], :headings::text[], :metadata, :source, :summary, :content, :terms, :length
)

-- last_position -- The last place in a session; -1 when it is empty.
SELECT coalesce(max(position), -1) FROM recollect.memory WHERE namespace = :namespace AND session = :session

-- touch -- Use makes a memory more salient: decay up to now is settled, then it is raised, never above 1.
UPDATE recollect.memory AS m SET
  salience = greatest(0, least(1, {salience} + :amount)), salience_at = greatest(:now, m.salience_at),
  access_count = m.access_count + :uses, accessed_at = greatest(:now, m.accessed_at)
WHERE m.namespace = :namespace AND m.number = ANY (:numbers::bigint[])

-- link -- A session used these memories.
INSERT INTO recollect.session_link (namespace, session, memory, usage, at)
SELECT m.namespace, :session::bigint, m.number, :usage::text, :now::timestamptz FROM recollect.memory m
WHERE m.namespace = :namespace AND m.number = ANY (:numbers::bigint[])
ON CONFLICT (namespace, memory, session, usage) DO UPDATE SET at = excluded.at

-- add_vector -- The vector of a memory that has none of this generation.
INSERT INTO recollect.vector (namespace, generation, memory, embedding)
VALUES (:namespace, :generation, :memory, :embedding::vector)

-- set_vector -- A memory's vector, if it still says what that was made from.
INSERT INTO recollect.vector (namespace, generation, memory, embedding)
SELECT m.namespace, :generation::bigint, m.number, :embedding::vector FROM recollect.memory m
WHERE m.namespace = :namespace AND m.number = :memory AND m.hash = :hash
ON CONFLICT (namespace, generation, memory) DO UPDATE SET embedding = excluded.embedding

-- has_vector -- Whether a memory has a vector of this generation.
SELECT 1 FROM recollect.vector
WHERE namespace = :namespace AND memory = :memory AND generation = :generation

-- pending -- Memories that have no vector of this generation yet, oldest first.
SELECT m.number, m.hash, m.content, m.speaker, m.headings, d.title
FROM recollect.memory m
LEFT JOIN recollect.document d ON d.namespace = m.namespace AND d.number = m.document AND d.namespace = :namespace
WHERE m.namespace = :namespace AND m.number > :after AND {unembedded}
ORDER BY m.number LIMIT :limit

-- unembedded -- Whether a memory has no vector of a generation.
NOT EXISTS (
  SELECT 1 FROM recollect.vector v JOIN recollect.generation g
    ON g.namespace = v.namespace AND g.number = v.generation
  WHERE v.namespace = :namespace AND g.namespace = :namespace AND v.memory = m.number
    AND g.fingerprint = :fingerprint)

-- count_pending -- How many memories have no vector of this generation yet.
SELECT count(*) FROM recollect.memory m WHERE m.namespace = :namespace AND {unembedded}

-- to_forget_in_scope -- The memories in a scope; deleted and expired ones too, for they are still on the disk.
SELECT m.number FROM recollect.memory m WHERE {within}

-- to_forget_all -- Every memory of a namespace, or those that have expired.
SELECT number FROM recollect.memory WHERE namespace = :namespace AND (NOT :expired OR expires_at <= :now)

-- taken_ids -- Which of these ids are taken.
SELECT id FROM recollect.memory WHERE namespace = :namespace AND id = ANY (:ids::text[])

-- keys -- The numbers of these memories.
SELECT id, number FROM recollect.memory WHERE namespace = :namespace AND id = ANY (:ids::text[])

-- merge -- The same text again: what it brought is added to the memory that is there.
UPDATE recollect.memory SET tags = :tags::text[], files = :files::text[], terms = :terms, length = :length,
  metadata = :metadata, updated_at = :now, importance = greatest(importance, :importance),
  summary = coalesce(summary, :summary), source = coalesce(source, :source),
  expires_at = CASE WHEN :expires_at::timestamptz IS NULL OR expires_at IS NULL THEN NULL
               ELSE greatest(expires_at, :expires_at) END,
  valid_until = CASE WHEN :valid_until::timestamptz IS NULL OR valid_until IS NULL THEN NULL
                ELSE greatest(valid_until, :valid_until) END
WHERE namespace = :namespace AND number = :number

-- length_of -- How many terms the keyword entry of a memory has, if it has one.
SELECT length FROM recollect.memory WHERE namespace = :namespace AND number = :number AND terms IS NOT NULL

-- add_near_key -- A hash that near-duplicates of a memory are likely to share.
INSERT INTO recollect.near_key (namespace, key, memory) VALUES (:namespace, :key, :memory)

-- remove_near_keys -- Those hashes go with the text.
DELETE FROM recollect.near_key WHERE namespace = :namespace AND memory = ANY (:numbers::bigint[])

-- remove_near_links -- The links to near-duplicates of a text that has changed.
DELETE FROM recollect.relation WHERE namespace = :namespace
  AND (source = :number OR target = :number) AND type = 'near_duplicate' AND origin = 'recollect'

-- present -- A memory as it is at this moment, and the end of validity that was given for it.
SELECT {columns}, m.valid_until FROM {memories} WHERE m.namespace = :namespace AND m.number = :number

-- change -- A memory written anew, under its id.
UPDATE recollect.memory SET
  content = :content, terms = :terms, length = :length, hash = :hash, created_at = :created_at,
  updated_at = :updated_at, sector = :sector, tier = :tier, language = :language, importance = :importance,
  salience = :salience, salience_at = :salience_at, token_count = :token_count, trust = :trust,
  speaker = :speaker, tags = :tags::text[], files = :files::text[], metadata = :metadata, source = :source,
  summary = :summary, valid_from = :valid_from, valid_until = :valid_until, expires_at = :expires_at
WHERE namespace = :namespace AND number = :number

-- move_to_session -- A memory goes to a place in another session.
UPDATE recollect.memory SET session = :session, position = :position
WHERE namespace = :namespace AND number = :number

-- successor_of -- What superseded a memory.
SELECT superseded_by FROM recollect.memory WHERE namespace = :namespace AND id = :id

-- close_validity -- A memory holds no longer, because of another.
UPDATE recollect.memory SET superseded_by = :new, superseded_at = greatest(:at, created_at, valid_from),
  updated_at = :now
WHERE namespace = :namespace AND number = :number

-- reopen -- A memory holds again.
UPDATE recollect.memory SET superseded_by = NULL, superseded_at = NULL, updated_at = :now
WHERE namespace = :namespace AND number = :number

-- relate -- An edge; drawing it again changes nothing.
INSERT INTO recollect.relation (namespace, source, target, type, origin, created_at)
VALUES (:namespace, :source, :target, :type, :origin, :at)
ON CONFLICT (namespace, source, target, type) DO NOTHING

-- unrelate -- Edges between two memories, of one type or of all.
DELETE FROM recollect.relation WHERE namespace = :namespace AND source = :source AND target = :target
  AND (:type::text IS NULL OR type = :type)

-- make_session -- A session comes to be when it is first named; it began with its earliest memory.
INSERT INTO recollect.session AS s (number, namespace, id, started_at)
VALUES (:number, :namespace, :id, :started_at)
ON CONFLICT (namespace, id) DO UPDATE SET started_at = least(s.started_at, excluded.started_at)
RETURNING number

-- make_sessions -- The same, where the number of one that is there already is known.
INSERT INTO recollect.session AS s (number, namespace, id, started_at)
VALUES (:number, :namespace, :id, :started_at)
ON CONFLICT (namespace, id) DO UPDATE SET started_at = least(s.started_at, excluded.started_at)

-- session_number -- What the rows call a session.
SELECT number FROM recollect.session WHERE namespace = :namespace AND id = :id

-- save_session -- A session, made or written over.
INSERT INTO recollect.session (number, namespace, id, started_at, ended_at, agent, summary, summary_extracted)
VALUES (:number, :namespace, :id, :started_at, :ended_at, :agent, :summary, :extracted)
ON CONFLICT (namespace, id) DO UPDATE SET started_at = excluded.started_at, ended_at = excluded.ended_at,
  agent = excluded.agent, summary = excluded.summary, summary_extracted = excluded.summary_extracted
RETURNING number

-- make_generation -- A model that vectors are made with.
INSERT INTO recollect.generation (number, namespace, model, dimensions, fingerprint, created_at)
VALUES (:number, :namespace, :model, :dimensions, :fingerprint, :now)

-- generation_number -- What the rows call a generation.
SELECT number FROM recollect.generation WHERE namespace = :namespace AND fingerprint = :fingerprint

-- use_generation -- The first generation of a namespace is searched at once, a further one when complete.
UPDATE recollect.namespace SET generation = coalesce(generation, :generation),
  next_generation = CASE WHEN coalesce(generation, :generation) = :generation THEN next_generation
                    ELSE :generation END
WHERE namespace = :namespace

-- switch_generation -- The generation that is complete is searched from now on.
UPDATE recollect.namespace SET generation = :generation, next_generation = NULL WHERE namespace = :namespace

-- use_weights -- Other weights are in force from now on; those that were are kept beside them.
UPDATE recollect.namespace SET tuned = :tuned, tuned_before = tuned
WHERE namespace = :namespace AND tuned IS DISTINCT FROM :tuned::text

-- remove_other_generations -- Vectors that nobody will search again.
DELETE FROM recollect.vector WHERE namespace = :namespace AND generation <> :generation

-- remove_vectors -- The vectors of these memories.
DELETE FROM recollect.vector WHERE namespace = :namespace AND memory = ANY (:numbers::bigint[])

-- remove_links -- What sessions did with these memories.
DELETE FROM recollect.session_link WHERE namespace = :namespace AND memory = ANY (:numbers::bigint[])

-- remove_relations -- The edges of these memories.
DELETE FROM recollect.relation WHERE namespace = :namespace
  AND (source = ANY (:numbers::bigint[]) OR target = ANY (:numbers::bigint[]))

-- bypass -- What these memories had superseded is superseded by what followed them; or it holds again.
UPDATE recollect.memory AS m SET
  superseded_at = CASE WHEN z.superseded_by IS NULL THEN NULL ELSE m.superseded_at END,
  superseded_by = z.superseded_by
FROM recollect.memory z
WHERE m.namespace = :namespace AND z.namespace = :namespace AND z.namespace = m.namespace
  AND z.id = m.superseded_by AND z.number = ANY (:numbers::bigint[])
  AND NOT m.number = ANY (:numbers::bigint[])

-- release -- What is superseded by one of these, in a circle, holds again.
UPDATE recollect.memory AS m SET superseded_by = NULL, superseded_at = NULL
WHERE m.namespace = :namespace AND NOT m.number = ANY (:numbers::bigint[]) AND m.superseded_by IN (
  SELECT z.id FROM recollect.memory z
  WHERE z.namespace = :namespace AND z.number = ANY (:numbers::bigint[]))

-- successions -- What superseded what.
SELECT id, superseded_by FROM recollect.memory WHERE namespace = :namespace AND superseded_by IS NOT NULL

-- clear_extracts -- A summary that was drawn from these memories goes with them.
UPDATE recollect.session SET summary = NULL, summary_extracted = false
WHERE namespace = :namespace AND summary_extracted AND number IN (
  SELECT m.session FROM recollect.memory m
  WHERE m.namespace = :namespace AND m.number = ANY (:numbers::bigint[]))

-- empty_sessions -- Which of these sessions have no memories.
SELECT s.number FROM recollect.session s
WHERE s.namespace = :namespace AND s.id = ANY (:ids::text[]) AND NOT EXISTS (
  SELECT 1 FROM recollect.memory m WHERE m.namespace = :namespace AND m.session = s.number)

-- remove_links_of_sessions -- What these sessions did with memories.
DELETE FROM recollect.session_link WHERE namespace = :namespace AND session = ANY (:numbers::bigint[])

-- remove_these_sessions -- Sessions, with their summaries.
DELETE FROM recollect.session WHERE namespace = :namespace AND number = ANY (:numbers::bigint[])

-- remove_sessions -- Every session of a namespace, once its memories are gone.
DELETE FROM recollect.session WHERE namespace = :namespace

-- count_created -- How many of these memories were made in a session.
SELECT count(*) FROM recollect.memory
WHERE namespace = :namespace AND number = ANY (:numbers::bigint[]) AND session IS NOT NULL

-- count_entries -- The keyword entries of these memories, and how many terms they have.
SELECT count(terms), coalesce(sum(length) FILTER (WHERE terms IS NOT NULL), 0)::bigint FROM recollect.memory
WHERE namespace = :namespace AND number = ANY (:numbers::bigint[])

-- remove_memories -- The rows themselves, with their keyword entries.
DELETE FROM recollect.memory WHERE namespace = :namespace AND number = ANY (:numbers::bigint[])

-- set_deleted -- Deleted softly, or restored.
UPDATE recollect.memory SET deleted_at = :at, updated_at = :now
WHERE namespace = :namespace AND id = ANY (:ids::text[]) AND (deleted_at IS NULL) <> (:at::timestamptz IS NULL)

-- save_document -- A document, made or written over.
INSERT INTO recollect.document (number, namespace, id, name, title, hash, created_at, updated_at)
VALUES (:number, :namespace, :id, :name, :title, :hash, :created_at, :updated_at)
ON CONFLICT (namespace, name) DO UPDATE SET
  title = excluded.title, hash = excluded.hash, updated_at = excluded.updated_at

-- copy_document -- A document as it was, in the place of the one of that name that is there.
INSERT INTO recollect.document (number, namespace, id, name, title, hash, created_at, updated_at)
VALUES (:number, :namespace, :id, :name, :title, :hash, :created_at, :updated_at)
ON CONFLICT (namespace, name) DO UPDATE SET id = excluded.id, title = excluded.title, hash = excluded.hash,
  created_at = excluded.created_at, updated_at = excluded.updated_at

-- document_number -- What the rows call a document.
SELECT number FROM recollect.document WHERE namespace = :namespace AND name = :name

-- remove_empty_documents -- Documents whose last passage was forgotten; not the one that gets new ones.
DELETE FROM recollect.document d WHERE d.namespace = :namespace AND d.number IS DISTINCT FROM :replaced::bigint
  AND NOT EXISTS (
    SELECT 1 FROM recollect.memory m WHERE m.namespace = :namespace AND m.document = d.number)

-- passages -- The passages of a document.
SELECT number FROM recollect.memory WHERE namespace = :namespace AND document = :document

-- remove_document -- A document whose passages are gone.
DELETE FROM recollect.document WHERE namespace = :namespace AND number = :document

-- stats -- A namespace in numbers.
SELECT c.memories, c.passages, c.superseded, c.deleted, c.expired, c.first, c.last,
  (SELECT count(*) FROM recollect.document d WHERE d.namespace = :namespace),
  (SELECT count(*) FROM recollect.session s WHERE s.namespace = :namespace),
  (SELECT count(*) FROM recollect.relation r WHERE r.namespace = :namespace),
  (SELECT count(*) FROM recollect.vector v WHERE v.namespace = :namespace AND v.generation = n.generation),
  (SELECT coalesce(array_agg(DISTINCT g.model), '{}') FROM recollect.generation g
   WHERE g.namespace = :namespace AND g.number IN (n.generation, n.next_generation))
FROM recollect.namespace n CROSS JOIN (
  SELECT
    count(*) FILTER (WHERE m.kind = 'memory' AND m.deleted_at IS NULL) AS memories,
    count(*) FILTER (WHERE m.kind = 'passage' AND m.deleted_at IS NULL) AS passages,
    count(*) FILTER (WHERE m.superseded_by IS NOT NULL AND m.deleted_at IS NULL) AS superseded,
    count(*) FILTER (WHERE m.deleted_at IS NOT NULL) AS deleted,
    count(*) FILTER (WHERE m.expires_at <= :now AND m.deleted_at IS NULL) AS expired,
    min(m.created_at) AS first, max(m.created_at) AS last
  FROM recollect.memory m WHERE m.namespace = :namespace
) c WHERE n.namespace = :namespace

-- growth -- How many live memories of each sector each day brought; days are counted from 1970, in UTC.
SELECT floor(extract(epoch FROM m.created_at) / 86400)::bigint AS day, m.sector, count(*) FROM recollect.memory m
WHERE m.namespace = :namespace AND m.deleted_at IS NULL AND m.kind = 'memory' GROUP BY 1, 2 ORDER BY 1, 2

-- saliences -- How many live memories have which tenth of salience now.
SELECT floor(least(9, {salience} * 10))::int, count(*) FROM recollect.memory m
WHERE m.namespace = :namespace AND m.deleted_at IS NULL AND m.kind = 'memory' GROUP BY 1

-- tally -- Live memories by sector and by language.
SELECT m.sector, m.language, count(*) FROM recollect.memory m
WHERE m.namespace = :namespace AND m.deleted_at IS NULL AND m.kind = 'memory' GROUP BY 1, 2

-- namespace_names -- Every namespace of the store and how many live memories it has (administration).
SELECT n.namespace, count(m.number)
FROM recollect.namespace n LEFT JOIN recollect.memory m
  ON m.namespace = n.namespace AND m.kind = 'memory' AND m.deleted_at IS NULL
GROUP BY n.namespace ORDER BY n.namespace

-- large_namespaces -- Namespaces with so many vectors that an index pays, and whether they have it (administration).
SELECT v.namespace, v.generation, g.dimensions, n.indexed_generation IS NOT DISTINCT FROM v.generation
FROM recollect.vector v
JOIN recollect.namespace n ON n.namespace = v.namespace AND n.generation = v.generation
JOIN recollect.generation g ON g.namespace = v.namespace AND g.number = v.generation
GROUP BY v.namespace, v.generation, g.dimensions, n.indexed_generation
HAVING count(*) >= :least ORDER BY v.namespace

-- indexed_namespaces -- Namespaces that have an index of their own (administration).
SELECT n.namespace FROM recollect.namespace n WHERE n.indexed_generation IS NOT NULL

-- set_indexed -- The generation of a namespace that has an index of its own, or none.
UPDATE recollect.namespace SET indexed_generation = :generation WHERE namespace = :namespace

-- check_entries -- Memories without a keyword entry.
SELECT count(*) FROM recollect.memory WHERE namespace = :namespace AND words IS NULL

-- check_orphan_vectors -- Vectors without a memory.
SELECT count(*) FROM recollect.vector v WHERE v.namespace = :namespace AND NOT EXISTS (
  SELECT 1 FROM recollect.memory m WHERE m.namespace = :namespace AND m.number = v.memory)

-- check_vector_sizes -- Vectors that do not have their generation's dimensions.
SELECT count(*) FROM recollect.vector v
LEFT JOIN recollect.generation g ON g.namespace = v.namespace AND g.number = v.generation AND g.namespace = :namespace
WHERE v.namespace = :namespace AND vector_dims(v.embedding) IS DISTINCT FROM g.dimensions

-- check_relations -- Edges of which an end is gone.
SELECT count(*) FROM recollect.relation r
LEFT JOIN recollect.memory a ON a.namespace = r.namespace AND a.number = r.source AND a.namespace = :namespace
LEFT JOIN recollect.memory b ON b.namespace = r.namespace AND b.number = r.target AND b.namespace = :namespace
WHERE r.namespace = :namespace AND (a.number IS NULL OR b.number IS NULL)

-- check_links -- Links of sessions to memories that are gone.
SELECT count(*) FROM recollect.session_link l
LEFT JOIN recollect.memory m ON m.namespace = l.namespace AND m.number = l.memory AND m.namespace = :namespace
LEFT JOIN recollect.session s ON s.namespace = l.namespace AND s.number = l.session AND s.namespace = :namespace
WHERE l.namespace = :namespace AND (m.number IS NULL OR s.number IS NULL)

-- check_near_keys -- Near-duplicate keys of memories that are gone.
SELECT count(*) FROM recollect.near_key k WHERE k.namespace = :namespace AND NOT EXISTS (
  SELECT 1 FROM recollect.memory m WHERE m.namespace = :namespace AND m.number = k.memory)

-- check_successors -- Memories superseded by something that is gone.
SELECT count(*) FROM recollect.memory m
LEFT JOIN recollect.memory z ON z.namespace = m.namespace AND z.id = m.superseded_by AND z.namespace = :namespace
WHERE m.namespace = :namespace AND m.superseded_by IS NOT NULL AND z.number IS NULL

-- check_sessions -- Memories of a session or document that is gone.
SELECT count(*) FROM recollect.memory m
LEFT JOIN recollect.session s ON s.namespace = m.namespace AND s.number = m.session AND s.namespace = :namespace
LEFT JOIN recollect.document d ON d.namespace = m.namespace AND d.number = m.document AND d.namespace = :namespace
WHERE m.namespace = :namespace
  AND ((m.session IS NOT NULL AND s.number IS NULL) OR (m.document IS NOT NULL AND d.number IS NULL))

-- last_given -- The highest numbers that rows of a namespace have.
SELECT coalesce((SELECT max(m.number) FROM recollect.memory m WHERE m.namespace = :namespace), 0) AS memory,
  coalesce((SELECT max(s.number) FROM recollect.session s WHERE s.namespace = :namespace), 0) AS session,
  coalesce((SELECT max(d.number) FROM recollect.document d WHERE d.namespace = :namespace), 0) AS document,
  coalesce((SELECT max(g.number) FROM recollect.generation g WHERE g.namespace = :namespace), 0) AS generation

-- check_counts -- Whether a namespace has miscounted its rows, their keyword entries or their terms.
SELECT count(*) FROM recollect.namespace n CROSS JOIN (
  SELECT count(m.terms) AS entries, coalesce(sum(m.length) FILTER (WHERE m.terms IS NOT NULL), 0) AS words
  FROM recollect.memory m WHERE m.namespace = :namespace
) found CROSS JOIN ({last_given}) last WHERE n.namespace = :namespace
  AND (n.entries <> found.entries OR n.words <> found.words OR n.last_memory < last.memory
    OR n.last_session < last.session OR n.last_document < last.document OR n.last_generation < last.generation)

-- mend_vectors -- Vectors that no search may use.
DELETE FROM recollect.vector v WHERE v.namespace = :namespace AND (
  NOT EXISTS (SELECT 1 FROM recollect.memory m WHERE m.namespace = :namespace AND m.number = v.memory)
  OR NOT EXISTS (
    SELECT 1 FROM recollect.generation g
    WHERE g.namespace = :namespace AND g.number = v.generation AND g.dimensions = vector_dims(v.embedding)))

-- mend_relations -- Edges that lead nowhere.
DELETE FROM recollect.relation r WHERE r.namespace = :namespace AND NOT (
  EXISTS (SELECT 1 FROM recollect.memory m WHERE m.namespace = :namespace AND m.number = r.source)
  AND EXISTS (SELECT 1 FROM recollect.memory m WHERE m.namespace = :namespace AND m.number = r.target))

-- mend_links -- Links that lead nowhere.
DELETE FROM recollect.session_link l WHERE l.namespace = :namespace AND NOT (
  EXISTS (SELECT 1 FROM recollect.memory m WHERE m.namespace = :namespace AND m.number = l.memory)
  AND EXISTS (SELECT 1 FROM recollect.session s WHERE s.namespace = :namespace AND s.number = l.session))

-- mend_successors -- What was superseded by something that is gone holds again.
UPDATE recollect.memory AS m SET superseded_by = NULL, superseded_at = NULL
WHERE m.namespace = :namespace AND m.superseded_by IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM recollect.memory z WHERE z.namespace = :namespace AND z.id = m.superseded_by)

-- mend_sessions -- A memory outlives its session.
UPDATE recollect.memory AS m SET session = NULL, position = NULL
WHERE m.namespace = :namespace AND m.session IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM recollect.session s WHERE s.namespace = :namespace AND s.number = m.session)

-- mend_documents -- A passage outlives its document.
UPDATE recollect.memory AS m SET document = NULL
WHERE m.namespace = :namespace AND m.document IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM recollect.document d WHERE d.namespace = :namespace AND d.number = m.document)

-- mend_near_keys -- Every near-duplicate key goes, to be made anew.
DELETE FROM recollect.near_key WHERE namespace = :namespace

-- mend_namespaces -- What a namespace knows of its memories, counted anew.
UPDATE recollect.namespace AS n SET entries = found.entries, words = found.words, languages = found.languages,
  last_memory = greatest(n.last_memory, last.memory), last_session = greatest(n.last_session, last.session),
  last_document = greatest(n.last_document, last.document),
  last_generation = greatest(n.last_generation, last.generation)
FROM (
  SELECT count(m.terms) AS entries, coalesce(sum(m.length) FILTER (WHERE m.terms IS NOT NULL), 0)::bigint AS words,
    coalesce(string_agg(DISTINCT m.language, ' ' ORDER BY m.language), '') AS languages
  FROM recollect.memory m WHERE m.namespace = :namespace
) found CROSS JOIN ({last_given}) last WHERE n.namespace = :namespace

-- texts -- Every memory's text, for analysing it anew.
SELECT m.number, m.namespace, m.content, m.speaker, m.language, m.tags, m.files, m.headings, m.kind, d.title, m.terms
FROM recollect.memory m
LEFT JOIN recollect.document d ON d.namespace = m.namespace AND d.number = m.document AND d.namespace = :namespace
WHERE m.namespace = :namespace AND m.number > :after ORDER BY m.number LIMIT :limit

-- set_terms -- A memory's terms, analysed anew.
UPDATE recollect.memory SET terms = :terms, length = :length WHERE namespace = :namespace AND number = :number

-- dump_sessions -- Every session of a namespace.
SELECT id, agent, started_at, ended_at, summary, nullif(summary_extracted, false) AS summary_extracted
FROM recollect.session WHERE namespace = :namespace ORDER BY number

-- dump_documents -- Every document of a namespace.
SELECT id, name, title, hash, created_at, updated_at
FROM recollect.document WHERE namespace = :namespace ORDER BY number

-- dump_memories -- Every memory of a namespace, deleted ones too.
SELECT m.id, m.kind, m.content, m.created_at, m.updated_at, m.accessed_at, m.sector, m.tier,
  m.language, m.importance, m.salience, m.salience_at, m.access_count, m.token_count, m.trust, s.id AS session,
  m.position, m.speaker, m.tags, m.files, m.headings, m.metadata, m.source, m.summary, m.valid_from, m.valid_until,
  m.superseded_by, m.superseded_at, m.expires_at, m.deleted_at, d.name AS document
FROM {memories} WHERE m.namespace = :namespace ORDER BY m.number

-- dump_relations -- Every edge of a namespace.
SELECT a.id AS source, b.id AS target, r.type AS relation, r.origin AS origin, r.created_at AS at
FROM recollect.relation r
JOIN recollect.memory a ON a.namespace = r.namespace AND a.number = r.source
JOIN recollect.memory b ON b.namespace = r.namespace AND b.number = r.target
WHERE r.namespace = :namespace AND a.namespace = :namespace AND b.namespace = :namespace
ORDER BY a.number, b.number, r.type

-- dump_links -- What the sessions of a namespace did with its memories.
SELECT s.id AS session, m.id AS memory, l.usage AS usage, l.at AS at FROM recollect.session_link l
JOIN recollect.session s ON s.namespace = l.namespace AND s.number = l.session
JOIN recollect.memory m ON m.namespace = l.namespace AND m.number = l.memory
WHERE l.namespace = :namespace AND s.namespace = :namespace AND m.namespace = :namespace
ORDER BY m.number, s.number, l.usage COLLATE "C"

-- dump_generations -- The models that a namespace has vectors of; the one that is searched first, with the weights.
SELECT g.model AS model, g.dimensions AS dimensions, g.fingerprint AS fingerprint,
  CASE g.number WHEN n.generation THEN 'searched' WHEN n.next_generation THEN 'next' END AS role,
  CASE g.number WHEN n.generation THEN n.tuned END AS tuned,
  CASE g.number WHEN n.generation THEN n.tuned_before END AS tuned_before
FROM recollect.generation g JOIN recollect.namespace n ON n.namespace = g.namespace
WHERE g.namespace = :namespace AND n.namespace = :namespace
  AND (g.number = n.generation OR g.number = n.next_generation OR EXISTS (
    SELECT 1 FROM recollect.vector v WHERE v.namespace = :namespace AND v.generation = g.number))
ORDER BY g.number IS NOT DISTINCT FROM n.generation DESC, g.fingerprint COLLATE "C"

-- dump_vectors -- Every vector of a namespace, and the hash of the text that it was made from.
SELECT m.id AS memory, g.fingerprint AS generation, m.hash AS hash, vector_send(v.embedding) AS embedding
FROM recollect.vector v
JOIN recollect.memory m ON m.namespace = v.namespace AND m.number = v.memory
JOIN recollect.generation g ON g.namespace = v.namespace AND g.number = v.generation
WHERE v.namespace = :namespace AND m.namespace = :namespace AND g.namespace = :namespace
ORDER BY m.number, g.fingerprint COLLATE "C"

-- undump_uses_vectors -- Whether a namespace has a generation that is searched.
SELECT generation IS NOT NULL FROM recollect.namespace WHERE namespace = :namespace

-- undump_dimensions -- How long the vectors of a generation are.
SELECT dimensions FROM recollect.generation WHERE namespace = :namespace AND number = :generation

-- undump_session -- A session as it was, unless there is one of that id.
INSERT INTO recollect.session (number, namespace, id, started_at, ended_at, agent, summary, summary_extracted)
VALUES (:number, :namespace, :id, :started_at, :ended_at, :agent, :summary, :extracted) ON CONFLICT DO NOTHING

-- undump_document -- A document as it was, unless there is one of that name or id.
INSERT INTO recollect.document (number, namespace, id, name, title, hash, created_at, updated_at)
VALUES (:number, :namespace, :id, :name, :title, :hash, :created_at, :updated_at) ON CONFLICT DO NOTHING

-- undump_texts -- The numbers of these memories, and the hashes of their texts.
SELECT id, number, hash FROM recollect.memory WHERE namespace = :namespace AND id = ANY (:ids::text[])

-- undump_vectors -- Which vectors these memories have.
SELECT memory, generation FROM recollect.vector
WHERE namespace = :namespace AND memory = ANY (:numbers::bigint[])

-- undump_successor -- What was superseded by a memory that did not come along is superseded by another, or holds.
UPDATE recollect.memory SET superseded_by = :new,
  superseded_at = CASE WHEN :new::text IS NULL THEN NULL ELSE superseded_at END
WHERE namespace = :namespace AND superseded_by = :old

-- undump_link -- What a session did with a memory, as it was.
INSERT INTO recollect.session_link (namespace, session, memory, usage, at)
VALUES (:namespace, :session, :memory, :usage, :at) ON CONFLICT DO NOTHING

-- contents -- How many records of each type a namespace has, as an export counts them.
SELECT (SELECT count(*) FROM recollect.generation g WHERE g.namespace = :namespace
    AND (g.number = n.generation OR g.number = n.next_generation OR EXISTS (
      SELECT 1 FROM recollect.vector v WHERE v.namespace = :namespace AND v.generation = g.number))),
  (SELECT count(*) FROM recollect.session s WHERE s.namespace = :namespace),
  (SELECT count(*) FROM recollect.document d WHERE d.namespace = :namespace),
  (SELECT count(*) FROM recollect.memory m WHERE m.namespace = :namespace),
  (SELECT count(*) FROM recollect.relation r WHERE r.namespace = :namespace),
  (SELECT count(*) FROM recollect.session_link l WHERE l.namespace = :namespace),
  (SELECT count(*) FROM recollect.vector v WHERE v.namespace = :namespace)
FROM recollect.namespace n WHERE n.namespace = :namespace

-- copy_generations -- Which generation of a namespace is searched and which one is being filled, as it was.
UPDATE recollect.namespace SET generation = :searched, next_generation = :next WHERE namespace = :namespace

-- copy_weights -- Which weights a namespace is tuned to, and which were in force before, as it was.
UPDATE recollect.namespace SET tuned = :tuned, tuned_before = :before WHERE namespace = :namespace

-- copy_session -- A session as it was, in the place of the one that is there.
INSERT INTO recollect.session (number, namespace, id, started_at, ended_at, agent, summary, summary_extracted)
VALUES (:number, :namespace, :id, :started_at, :ended_at, :agent, :summary, :extracted)
ON CONFLICT (namespace, id) DO UPDATE SET started_at = excluded.started_at, ended_at = excluded.ended_at,
  agent = excluded.agent, summary = excluded.summary, summary_extracted = excluded.summary_extracted

-- copy_sessions_known -- What the rows call these sessions.
SELECT id, number FROM recollect.session WHERE namespace = :namespace AND id = ANY (:ids::text[])

-- copy_memory -- A memory as it was, in the place of the one that is there.
UPDATE recollect.memory SET
  kind = :kind, expires_at = :expires_at, valid_from = :valid_from, valid_until = :valid_until,
  superseded_by = :superseded_by, superseded_at = :superseded_at, deleted_at = :deleted_at,
  created_at = :created_at, session = :session, position = :position, sector = :sector, tier = :tier,
  language = :language, speaker = :speaker, importance = :importance, salience = :salience,
  salience_at = :salience_at, access_count = :access_count, accessed_at = :accessed_at,
  updated_at = :updated_at, token_count = :token_count, trust = :trust, document = :document, hash = :hash,
  tags = :tags::text[], files = :files::text[], headings = :headings::text[], metadata = :metadata,
  source = :source, summary = :summary, content = :content, terms = :terms, length = :length
WHERE namespace = :namespace AND number = :number

-- copy_relation -- An edge as it was, in the place of the one that is there.
INSERT INTO recollect.relation (namespace, source, target, type, origin, created_at)
VALUES (:namespace, :source, :target, :type, :origin, :at)
ON CONFLICT (namespace, source, target, type) DO UPDATE
SET origin = excluded.origin, created_at = excluded.created_at

-- copy_link -- What a session did with a memory, as it was, in the place of what is there.
INSERT INTO recollect.session_link (namespace, session, memory, usage, at)
VALUES (:namespace, :session, :memory, :usage, :at)
ON CONFLICT (namespace, memory, session, usage) DO UPDATE SET at = excluded.at

-- identity -- Which cluster and which database of it this is; a replica is the same one (administration).
SELECT (SELECT system_identifier::text FROM pg_control_system()), oid::text
FROM pg_database WHERE datname = current_database()

-- missing_successors -- Memories of a namespace that are superseded by something that is not there.
SELECT count(*) FROM recollect.memory m
LEFT JOIN recollect.memory z ON z.namespace = m.namespace AND z.id = m.superseded_by AND z.namespace = :namespace
WHERE m.namespace = :namespace AND m.superseded_by IS NOT NULL AND z.number IS NULL
