-- Segments know tags as they are written, not by their terms alone: a change of them is noted, too.
DROP TRIGGER word_change_change;
CREATE TRIGGER word_change_change
AFTER UPDATE OF terms, namespace, kind, created_at, session, position, speaker, token_count, tags ON memory
WHEN old.number <= (SELECT memory FROM indexed) BEGIN
  INSERT INTO word_change (memory) VALUES (old.number);
END;
