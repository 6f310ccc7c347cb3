CREATE TABLE vectors (
	owner TEXT NOT NULL CHECK (owner <> ''),
	space TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('memory', 'turn')),
	item TEXT NOT NULL,
	part INTEGER NOT NULL,
	nth INTEGER NOT NULL,
	vector BLOB NOT NULL,
	PRIMARY KEY (owner, space, kind, item, part)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX vectors_by_number ON vectors (owner, space, kind, nth);

CREATE TABLE vector_spaces (
	owner TEXT NOT NULL CHECK (owner <> ''),
	space TEXT NOT NULL,
	added INTEGER NOT NULL,
	removed INTEGER NOT NULL,
	through INTEGER NOT NULL,
	PRIMARY KEY (owner, space)
)
 WITHOUT ROWID,
 STRICT;

DROP TRIGGER erasures_take_a_memory;
DROP TRIGGER erasures_take_the_book;

CREATE TRIGGER erasures_take_a_memory AFTER INSERT ON erasures
WHEN NEW.memory_id <> '*'
BEGIN
  UPDATE versions SET content = NULL, summary = NULL, body = NULL
    WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND content IS NOT NULL;
  UPDATE ledger SET before = NULL, after = NULL, salt = NULL
    WHERE owner = NEW.owner AND salt IS NOT NULL AND (memory_id = NEW.memory_id OR other_id = NEW.memory_id);
  UPDATE injections SET block = NULL
    WHERE owner = NEW.owner AND block IS NOT NULL AND (space, session) IN (
      SELECT space, session FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id);
  UPDATE threads SET summary = NULL, compressed = NULL
    WHERE owner = NEW.owner AND (summary IS NOT NULL OR compressed IS NOT NULL) AND (
      id IN (SELECT thread_id FROM versions WHERE owner = NEW.owner AND memory_id = NEW.memory_id)
      OR id IN (SELECT session FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND space = 'chat')
      OR session IN (SELECT session FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND space = 'outside'));
  DELETE FROM proposals WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  DELETE FROM links WHERE owner = NEW.owner AND (from_id = NEW.memory_id OR to_id = NEW.memory_id);
  DELETE FROM terms WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  DELETE FROM likeness WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  UPDATE vector_spaces SET removed = removed + 1 WHERE owner = NEW.owner AND EXISTS (
    SELECT 1 FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id);
  DELETE FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id;
  UPDATE memories SET subject = NULL, subject_key = NULL, category = NULL, scope = NULL, purged_at = NEW.at
    WHERE owner = NEW.owner AND id = NEW.memory_id AND purged_at IS NULL;
END;

CREATE TRIGGER erasures_take_the_book AFTER INSERT ON erasures
WHEN NEW.memory_id = '*'
BEGIN
  DELETE FROM vectors WHERE owner = NEW.owner;
  DELETE FROM vector_spaces WHERE owner = NEW.owner;
  DELETE FROM turn_terms WHERE owner = NEW.owner;
  DELETE FROM messages WHERE owner = NEW.owner;
  DELETE FROM threads WHERE owner = NEW.owner;
  DELETE FROM notes WHERE owner = NEW.owner;
  DELETE FROM proposals WHERE owner = NEW.owner;
  DELETE FROM choices WHERE owner = NEW.owner;
  DELETE FROM meter WHERE owner = NEW.owner;
  DELETE FROM due WHERE owner = NEW.owner;
  DELETE FROM terms WHERE owner = NEW.owner;
  DELETE FROM likeness WHERE owner = NEW.owner;
  DELETE FROM injected WHERE owner = NEW.owner;
  DELETE FROM injections WHERE owner = NEW.owner;
  DELETE FROM links WHERE owner = NEW.owner;
  DELETE FROM versions WHERE owner = NEW.owner;
  DELETE FROM memories WHERE owner = NEW.owner;
  DELETE FROM ledger WHERE owner = NEW.owner;
  DELETE FROM erasures WHERE owner = NEW.owner AND memory_id <> '*';
  DELETE FROM erasures WHERE owner = NEW.owner;
END;
