-- Memories that may not hold now: whoever is not here is in scope, as far as its time goes, without being read.
CREATE INDEX memory_aside ON memory (namespace) WHERE deleted_at IS NOT NULL OR expires_at IS NOT NULL
  OR superseded_by IS NOT NULL OR valid_from IS NOT NULL OR valid_until IS NOT NULL;

-- Segments say more of a memory than its terms: a change of that is noted, too.
DROP TRIGGER word_change_change;
CREATE TRIGGER word_change_change
AFTER UPDATE OF terms, namespace, kind, created_at, session, position, speaker, token_count ON memory
WHEN old.number <= (SELECT memory FROM indexed) BEGIN
  INSERT INTO word_change (memory) VALUES (old.number);
END;
