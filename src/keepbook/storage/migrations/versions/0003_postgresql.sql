CREATE TABLE vectors (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	space TEXT COLLATE "C" NOT NULL,
	kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('memory', 'turn')),
	item TEXT COLLATE "C" NOT NULL,
	part INTEGER NOT NULL,
	nth INTEGER NOT NULL,
	vector BYTEA NOT NULL,
	PRIMARY KEY (owner, space, kind, item, part)
);

CREATE INDEX vectors_by_number ON vectors (owner, space, kind, nth);

CREATE TABLE vector_spaces (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	space TEXT COLLATE "C" NOT NULL,
	added INTEGER NOT NULL,
	removed INTEGER NOT NULL,
	through INTEGER NOT NULL,
	PRIMARY KEY (owner, space)
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
    DELETE FROM links WHERE owner = NEW.owner AND (from_id = NEW.memory_id OR to_id = NEW.memory_id);
    DELETE FROM terms WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
    DELETE FROM likeness WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
    UPDATE vector_spaces SET removed = removed + 1 WHERE owner = NEW.owner AND EXISTS (
      SELECT 1 FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id);
    DELETE FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id;
    UPDATE memories SET subject = NULL, subject_key = NULL, category = NULL, scope = NULL, purged_at = NEW.at
      WHERE owner = NEW.owner AND id = NEW.memory_id AND purged_at IS NULL;
  ELSE
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

DO $$
DECLARE a_table text;
BEGIN
  FOREACH a_table IN ARRAY ARRAY['vectors', 'vector_spaces'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', a_table);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', a_table);
    EXECUTE format('CREATE POLICY one_owner ON %I USING (owner = current_setting(''keepbook.owner'', true)) '
                   'WITH CHECK (owner = current_setting(''keepbook.owner'', true))', a_table);
  END LOOP;
END $$;

GRANT SELECT, INSERT, DELETE ON vectors TO keepbook_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON vector_spaces TO keepbook_app;

-- Names mean this schema's tables and nothing else: a temporary table of the same name would come first otherwise,
-- and a guard would look at that one.
DO $$
DECLARE a_function regprocedure;
BEGIN
  FOR a_function IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'keepbook\_%' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', a_function, current_schema());
  END LOOP;
END $$;
