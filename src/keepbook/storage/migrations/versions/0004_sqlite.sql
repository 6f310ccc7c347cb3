CREATE TABLE tokens (
	id TEXT NOT NULL CHECK (length(id) = 8),
	owner TEXT CHECK (owner <> ''),
	hash TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('person', 'agent', 'service')),
	scopes TEXT NOT NULL,
	name TEXT,
	created_at TEXT NOT NULL,
	expires_at TEXT,
	revoked_at TEXT,
	last_used_at TEXT,
	PRIMARY KEY (id),
	CONSTRAINT opens_one_book CHECK (owner IS NOT NULL OR kind = 'service' OR revoked_at IS NOT NULL),
	UNIQUE (hash)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX tokens_by_owner ON tokens (owner, created_at);

CREATE TABLE leases (
	name TEXT NOT NULL,
	holder TEXT NOT NULL,
	until TEXT NOT NULL,
	PRIMARY KEY (name)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE answers (
	owner TEXT NOT NULL CHECK (owner <> ''),
	key TEXT NOT NULL,
	request TEXT NOT NULL,
	status INTEGER NOT NULL,
	body TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (owner, key)
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
  DELETE FROM answers WHERE owner = NEW.owner;
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
  DELETE FROM answers WHERE owner = NEW.owner;
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
