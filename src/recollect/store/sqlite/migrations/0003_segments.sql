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

-- Memories whose terms are no longer what a segment says, in the order of the changes.
CREATE TABLE word_change (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  memory INTEGER NOT NULL
) STRICT;

CREATE TRIGGER word_change_remove AFTER DELETE ON memory WHEN old.number <= (SELECT memory FROM indexed) BEGIN
  INSERT INTO word_change (memory) VALUES (old.number);
END;
CREATE TRIGGER word_change_change AFTER UPDATE OF terms, namespace ON memory
WHEN old.number <= (SELECT memory FROM indexed) BEGIN
  INSERT INTO word_change (memory) VALUES (old.number);
END;
