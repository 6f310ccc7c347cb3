CREATE TABLE tokens (
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	owner TEXT COLLATE "C" CHECK (owner <> ''),
	hash TEXT COLLATE "C" NOT NULL,
	kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('person', 'agent', 'service')),
	scopes TEXT COLLATE "C" NOT NULL,
	name TEXT COLLATE "C",
	created_at TEXT COLLATE "C" NOT NULL,
	expires_at TEXT COLLATE "C",
	revoked_at TEXT COLLATE "C",
	last_used_at TEXT COLLATE "C",
	PRIMARY KEY (id),
	CONSTRAINT opens_one_book CHECK (owner IS NOT NULL OR kind = 'service' OR revoked_at IS NOT NULL),
	UNIQUE (hash)
);

CREATE INDEX tokens_by_owner ON tokens (owner, created_at);

CREATE TABLE leases (
	name TEXT COLLATE "C" NOT NULL,
	holder TEXT COLLATE "C" NOT NULL,
	until TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (name)
);

CREATE TABLE answers (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	key TEXT COLLATE "C" NOT NULL,
	request TEXT COLLATE "C" NOT NULL,
	status INTEGER NOT NULL,
	body TEXT COLLATE "C" NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, key)
);

CREATE OR REPLACE FUNCTION keepbook_erase() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF NEW.memory_id <> '*' THEN
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
  ELSE
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
  END IF;
  RETURN NULL;
END $$;

ALTER TABLE answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE answers FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON answers USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

GRANT SELECT, INSERT, DELETE ON answers TO keepbook_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON leases TO keepbook_app;
GRANT SELECT, INSERT, UPDATE ON tokens TO keepbook_app;

-- Names mean this schema's tables and nothing else: a temporary table of the same name would come first otherwise,
-- and a guard would look at that one.
DO $$
DECLARE a_function regprocedure;
BEGIN
  FOR a_function IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'keepbook\_%' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', a_function, current_schema());
  END LOOP;
END $$;
