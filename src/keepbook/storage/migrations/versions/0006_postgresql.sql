DROP INDEX bars_by_time;

CREATE TABLE market_events (
	id TEXT COLLATE "C" NOT NULL CHECK (id <> ''),
	kind TEXT COLLATE "C" NOT NULL CHECK (kind <> ''),
	time TEXT COLLATE "C" NOT NULL,
	importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
	title TEXT COLLATE "C" NOT NULL,
	symbols TEXT COLLATE "C" NOT NULL,
	known_at TEXT COLLATE "C",
	PRIMARY KEY (id)
);

CREATE INDEX market_events_by_time ON market_events (time);

CREATE TABLE event_symbols (
	symbol TEXT COLLATE "C" NOT NULL CHECK (symbol <> ''),
	kind TEXT COLLATE "C" NOT NULL,
	time TEXT COLLATE "C" NOT NULL,
	event_id TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (symbol, kind, time, event_id)
);

CREATE TABLE skills (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	name TEXT COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
	description TEXT COLLATE "C" NOT NULL,
	created_at TEXT COLLATE "C" NOT NULL,
	ended_at TEXT COLLATE "C",
	PRIMARY KEY (owner, id)
);

CREATE TABLE skill_fields (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	skill_id TEXT COLLATE "C" NOT NULL,
	field TEXT COLLATE "C" NOT NULL CHECK (field IN ('strategy', 'schedule', 'chat')),
	version INTEGER NOT NULL CHECK (version >= 1),
	value TEXT COLLATE "C" NOT NULL,
	recorded_at TEXT COLLATE "C" NOT NULL,
	actor TEXT COLLATE "C" NOT NULL CHECK (actor IN ('person', 'agent', 'extractor', 'job')),
	thread_id TEXT COLLATE "C",
	PRIMARY KEY (owner, skill_id, field, version),
	FOREIGN KEY(owner, skill_id) REFERENCES skills (owner, id)
);

CREATE TABLE deployments (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	skill_id TEXT COLLATE "C" NOT NULL,
	name TEXT COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
	account TEXT COLLATE "C",
	capital DOUBLE PRECISION CHECK (capital > 0),
	currency TEXT COLLATE "C" DEFAULT 'USDT' NOT NULL,
	started_at TEXT COLLATE "C",
	ended_at TEXT COLLATE "C",
	created_at TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, id),
	FOREIGN KEY(owner, skill_id) REFERENCES skills (owner, id),
	CONSTRAINT ends_after_it_started CHECK (ended_at >= started_at)
);

CREATE TABLE positions (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	deployment_id TEXT COLLATE "C" NOT NULL,
	symbol TEXT COLLATE "C" NOT NULL CHECK (symbol <> ''),
	side TEXT COLLATE "C" NOT NULL CHECK (side IN ('long', 'short')),
	entry_time TEXT COLLATE "C" NOT NULL,
	known_at TEXT COLLATE "C" NOT NULL,
	entry_price DOUBLE PRECISION NOT NULL,
	quantity DOUBLE PRECISION NOT NULL CHECK (quantity > 0),
	closed_at TEXT COLLATE "C",
	PRIMARY KEY (owner, deployment_id, symbol, side, entry_time, known_at),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
);

CREATE TABLE trades (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	deployment_id TEXT COLLATE "C" NOT NULL,
	exit_time TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL CHECK (key <> ''),
	symbol TEXT COLLATE "C" NOT NULL CHECK (symbol <> ''),
	side TEXT COLLATE "C" NOT NULL CHECK (side IN ('long', 'short')),
	quantity DOUBLE PRECISION NOT NULL CHECK (quantity > 0),
	entry_time TEXT COLLATE "C" NOT NULL,
	entry_price DOUBLE PRECISION NOT NULL CHECK (entry_price > 0),
	exit_price DOUBLE PRECISION NOT NULL,
	fees DOUBLE PRECISION NOT NULL,
	pnl DOUBLE PRECISION NOT NULL,
	mfe DOUBLE PRECISION,
	mae DOUBLE PRECISION,
	entry_regime_tag TEXT COLLATE "C",
	entry_reason TEXT COLLATE "C",
	exit_reason TEXT COLLATE "C",
	known_at TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, deployment_id, exit_time, key),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id),
	CONSTRAINT entered_left_and_known CHECK (entry_time <= exit_time AND exit_time <= known_at)
);


CREATE TABLE lessons (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	memory_id TEXT COLLATE "C" NOT NULL,
	version INTEGER NOT NULL,
	finding TEXT COLLATE "C" NOT NULL,
	skill_id TEXT COLLATE "C" NOT NULL,
	deployment_id TEXT COLLATE "C",
	known_at TEXT COLLATE "C" NOT NULL,
	window_from TEXT COLLATE "C",
	window_until TEXT COLLATE "C",
	trades INTEGER NOT NULL,
	wins INTEGER NOT NULL,
	mean DOUBLE PRECISION NOT NULL,
	median DOUBLE PRECISION NOT NULL,
	low DOUBLE PRECISION NOT NULL,
	high DOUBLE PRECISION NOT NULL,
	p DOUBLE PRECISION NOT NULL,
	tried INTEGER NOT NULL,
	withdrawn_at TEXT COLLATE "C",
	PRIMARY KEY (owner, memory_id, version),
	FOREIGN KEY(owner, memory_id, version) REFERENCES versions (owner, memory_id, version),
	FOREIGN KEY(owner, skill_id) REFERENCES skills (owner, id),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
);

CREATE INDEX lessons_by_skill ON lessons (owner, skill_id, finding);

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
    UPDATE agents SET compressed = NULL
      WHERE owner = NEW.owner AND compressed IS NOT NULL AND id IN (
        SELECT r.agent_id FROM runs r JOIN injected i ON i.owner = r.owner AND i.session = r.id AND i.space = 'chat'
        WHERE r.owner = NEW.owner AND i.memory_id = NEW.memory_id);
    DELETE FROM proposals WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
    DELETE FROM answers WHERE owner = NEW.owner;
    DELETE FROM lessons WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
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
    DELETE FROM lessons WHERE owner = NEW.owner;
    DELETE FROM trades WHERE owner = NEW.owner;
    DELETE FROM positions WHERE owner = NEW.owner;
    DELETE FROM deployments WHERE owner = NEW.owner;
    DELETE FROM skill_fields WHERE owner = NEW.owner;
    DELETE FROM skills WHERE owner = NEW.owner;
    DELETE FROM decisions WHERE owner = NEW.owner;
    DELETE FROM transcripts WHERE owner = NEW.owner;
    DELETE FROM runs WHERE owner = NEW.owner;
    DELETE FROM agents WHERE owner = NEW.owner;
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

-- Trading: what a skill said stays as it was said, version by version; what was traded and learnt goes only with the book.
CREATE FUNCTION keepbook_skill_fields_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN PERFORM keepbook_refuse('what a skill said is never rewritten'); END IF;
  IF NEW.version <> 1 + coalesce((SELECT max(version) FROM skill_fields WHERE owner = NEW.owner AND skill_id = NEW.skill_id
                                    AND field = NEW.field), 0) THEN
    PERFORM keepbook_refuse('the versions of a field are numbered without gaps');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER skill_fields_append BEFORE INSERT OR UPDATE ON skill_fields FOR EACH ROW EXECUTE FUNCTION keepbook_skill_fields_append();

CREATE FUNCTION keepbook_lessons_keep_their_figures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.owner, NEW.memory_id, NEW.version, NEW.finding, NEW.skill_id, NEW.deployment_id, NEW.known_at, NEW.window_from,
      NEW.window_until, NEW.trades, NEW.wins, NEW.mean, NEW.median, NEW.low, NEW.high, NEW.p, NEW.tried)
    IS DISTINCT FROM
      (OLD.owner, OLD.memory_id, OLD.version, OLD.finding, OLD.skill_id, OLD.deployment_id, OLD.known_at, OLD.window_from,
       OLD.window_until, OLD.trades, OLD.wins, OLD.mean, OLD.median, OLD.low, OLD.high, OLD.p, OLD.tried)
  THEN PERFORM keepbook_refuse('the figures of a lesson are never rewritten'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER lessons_keep_their_figures BEFORE UPDATE ON lessons FOR EACH ROW EXECUTE FUNCTION keepbook_lessons_keep_their_figures();

CREATE FUNCTION keepbook_lessons_never_vanish() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT keepbook_erased(OLD.owner, '*', OLD.memory_id) THEN
    PERFORM keepbook_refuse('the figures of a lesson go only with it');
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER lessons_never_vanish BEFORE DELETE ON lessons FOR EACH ROW EXECUTE FUNCTION keepbook_lessons_never_vanish();

CREATE TRIGGER skills_never_vanish BEFORE DELETE ON skills FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER skill_fields_never_vanish BEFORE DELETE ON skill_fields FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER deployments_never_vanish BEFORE DELETE ON deployments FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER positions_never_vanish BEFORE DELETE ON positions FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER trades_never_vanish BEFORE DELETE ON trades FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER skills_never_truncated BEFORE TRUNCATE ON skills EXECUTE FUNCTION keepbook_never_truncated();
CREATE TRIGGER skill_fields_never_truncated BEFORE TRUNCATE ON skill_fields EXECUTE FUNCTION keepbook_never_truncated();
CREATE TRIGGER deployments_never_truncated BEFORE TRUNCATE ON deployments EXECUTE FUNCTION keepbook_never_truncated();
CREATE TRIGGER positions_never_truncated BEFORE TRUNCATE ON positions EXECUTE FUNCTION keepbook_never_truncated();
CREATE TRIGGER trades_never_truncated BEFORE TRUNCATE ON trades EXECUTE FUNCTION keepbook_never_truncated();
CREATE TRIGGER lessons_never_truncated BEFORE TRUNCATE ON lessons EXECUTE FUNCTION keepbook_never_truncated();

ALTER TABLE skills ENABLE ROW LEVEL SECURITY;
ALTER TABLE skills FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON skills USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

ALTER TABLE skill_fields ENABLE ROW LEVEL SECURITY;
ALTER TABLE skill_fields FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON skill_fields USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

ALTER TABLE deployments ENABLE ROW LEVEL SECURITY;
ALTER TABLE deployments FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON deployments USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

ALTER TABLE positions ENABLE ROW LEVEL SECURITY;
ALTER TABLE positions FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON positions USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

ALTER TABLE trades ENABLE ROW LEVEL SECURITY;
ALTER TABLE trades FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON trades USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

ALTER TABLE lessons ENABLE ROW LEVEL SECURITY;
ALTER TABLE lessons FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON lessons USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

GRANT SELECT, INSERT, UPDATE ON market_events TO keepbook_app;
GRANT SELECT, INSERT, DELETE ON event_symbols TO keepbook_app;
GRANT SELECT, INSERT, UPDATE ON skills, deployments, positions, trades TO keepbook_app;
GRANT SELECT, INSERT ON skill_fields, lessons TO keepbook_app;
GRANT UPDATE (withdrawn_at) ON lessons TO keepbook_app;

-- Names mean this schema's tables and nothing else: a temporary table of the same name would come first otherwise,
-- and a guard would look at that one.
DO $$
DECLARE a_function regprocedure;
BEGIN
  FOR a_function IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'keepbook\_%' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', a_function, current_schema());
  END LOOP;
END $$;
