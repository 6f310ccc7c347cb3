CREATE TABLE threads (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	session TEXT COLLATE "C",
	agent TEXT COLLATE "C",
	preset TEXT COLLATE "C" NOT NULL,
	title TEXT COLLATE "C",
	titled_by TEXT COLLATE "C" CHECK (titled_by IN ('person', 'model', 'rules')),
	state TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'idle', 'archived')),
	incognito INTEGER NOT NULL CHECK (incognito IN (0, 1)),
	tier TEXT COLLATE "C",
	mode TEXT COLLATE "C",
	focus TEXT COLLATE "C",
	created_at TEXT COLLATE "C" NOT NULL,
	touched_at TEXT COLLATE "C" NOT NULL,
	deleted_at TEXT COLLATE "C",
	turns INTEGER NOT NULL,
	summary TEXT COLLATE "C",
	extracted_through INTEGER NOT NULL,
	closing_until TEXT COLLATE "C",
	closing_by TEXT COLLATE "C",
	failures INTEGER NOT NULL,
	failure TEXT COLLATE "C",
	compressed_through INTEGER NOT NULL,
	compressed TEXT COLLATE "C",
	PRIMARY KEY (owner, id),
	CONSTRAINT watermark_within_the_chat CHECK (extracted_through BETWEEN 0 AND turns)
);

CREATE INDEX threads_by_touch ON threads (owner, touched_at, id);

CREATE UNIQUE INDEX threads_by_session ON threads (owner, session) WHERE session IS NOT NULL;

CREATE TABLE turn_terms (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	term TEXT COLLATE "C" NOT NULL,
	thread_id TEXT COLLATE "C" NOT NULL,
	turn INTEGER NOT NULL,
	weight DOUBLE PRECISION NOT NULL,
	PRIMARY KEY (owner, term, thread_id, turn)
);

CREATE TABLE notes (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	text TEXT COLLATE "C" NOT NULL,
	thread_id TEXT COLLATE "C",
	turn INTEGER,
	created_at TEXT COLLATE "C" NOT NULL,
	updated_at TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, id)
);

CREATE TABLE proposals (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	nature TEXT COLLATE "C" NOT NULL CHECK (nature IN ('proposal', 'conflict')),
	status TEXT COLLATE "C" NOT NULL CHECK (status IN ('waiting', 'accepted', 'declined', 'expired')),
	op TEXT COLLATE "C" NOT NULL CHECK (op IN ('add', 'update', 'forget')),
	memory_id TEXT COLLATE "C",
	category TEXT COLLATE "C",
	subject TEXT COLLATE "C",
	content TEXT COLLATE "C" NOT NULL,
	score DOUBLE PRECISION,
	made_by TEXT COLLATE "C",
	thread_id TEXT COLLATE "C",
	turn_ids TEXT COLLATE "C" DEFAULT '[]' NOT NULL,
	valid_from TEXT COLLATE "C",
	reason TEXT COLLATE "C",
	created_at TEXT COLLATE "C" NOT NULL,
	decided_at TEXT COLLATE "C",
	PRIMARY KEY (owner, id)
);

CREATE INDEX proposals_by_status ON proposals (owner, status, created_at);

CREATE TABLE choices (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	name TEXT COLLATE "C" NOT NULL,
	value TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, name)
);

CREATE TABLE meter (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	month TEXT COLLATE "C" NOT NULL,
	operation TEXT COLLATE "C" NOT NULL,
	model TEXT COLLATE "C" NOT NULL,
	calls INTEGER NOT NULL,
	tokens_in INTEGER NOT NULL,
	tokens_out INTEGER NOT NULL,
	PRIMARY KEY (owner, month, operation, model)
);

CREATE TABLE due (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	work TEXT COLLATE "C" NOT NULL,
	id TEXT COLLATE "C" NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, work, id)
);

CREATE INDEX due_by_time ON due (at, owner);

CREATE TABLE messages (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	thread_id TEXT COLLATE "C" NOT NULL,
	turn INTEGER NOT NULL CHECK (turn >= 1),
	role TEXT COLLATE "C" NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
	speaker TEXT COLLATE "C",
	text TEXT COLLATE "C" NOT NULL,
	hidden TEXT COLLATE "C",
	parts TEXT COLLATE "C",
	at TEXT COLLATE "C" NOT NULL,
	tokens INTEGER NOT NULL,
	PRIMARY KEY (owner, thread_id, turn),
	FOREIGN KEY(owner, thread_id) REFERENCES threads (owner, id)
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
    UPDATE memories SET subject = NULL, subject_key = NULL, category = NULL, scope = NULL, purged_at = NEW.at
      WHERE owner = NEW.owner AND id = NEW.memory_id AND purged_at IS NULL;
  ELSE
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

-- Chats: what was said is kept as it was said, until the whole chat goes.
CREATE FUNCTION keepbook_messages_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN PERFORM keepbook_refuse('what was said in a chat is never rewritten'); END IF;
  IF NEW.turn <> 1 + coalesce((SELECT max(turn) FROM messages WHERE owner = NEW.owner AND thread_id = NEW.thread_id), 0) THEN
    PERFORM keepbook_refuse('the turns of a chat are numbered without gaps');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER messages_append BEFORE INSERT OR UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION keepbook_messages_append();

DO $$
DECLARE a_table text;
BEGIN
  FOREACH a_table IN ARRAY ARRAY['threads', 'messages', 'turn_terms', 'notes', 'proposals', 'choices', 'meter'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', a_table);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', a_table);
    EXECUTE format('CREATE POLICY one_owner ON %I USING (owner = current_setting(''keepbook.owner'', true)) '
                   'WITH CHECK (owner = current_setting(''keepbook.owner'', true))', a_table);
  END LOOP;
END $$;

GRANT SELECT, INSERT, DELETE ON messages, turn_terms TO keepbook_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON threads, notes, proposals, choices, meter, due TO keepbook_app;

-- Names mean this schema's tables and nothing else: a temporary table of the same name would come first otherwise,
-- and a guard would look at that one.
DO $$
DECLARE a_function regprocedure;
BEGIN
  FOR a_function IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'keepbook\_%' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', a_function, current_schema());
  END LOOP;
END $$;
