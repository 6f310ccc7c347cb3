CREATE TABLE agents (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	name TEXT COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
	instructions TEXT COLLATE "C" NOT NULL,
	default_prompt TEXT COLLATE "C" NOT NULL,
	model TEXT COLLATE "C",
	adapter TEXT COLLATE "C" NOT NULL,
	card_type TEXT COLLATE "C" NOT NULL,
	schedule TEXT COLLATE "C",
	team TEXT COLLATE "C" DEFAULT '[]' NOT NULL,
	use_block INTEGER NOT NULL CHECK (use_block IN (0, 1)),
	memory_enabled INTEGER NOT NULL CHECK (memory_enabled IN (0, 1)),
	review_decisions INTEGER NOT NULL CHECK (review_decisions IN (0, 1)),
	thread_id TEXT COLLATE "C",
	created_at TEXT COLLATE "C" NOT NULL,
	updated_at TEXT COLLATE "C" NOT NULL,
	deleted_at TEXT COLLATE "C",
	session TEXT COLLATE "C",
	session_at TEXT COLLATE "C",
	fresh_at TEXT COLLATE "C",
	epoch INTEGER NOT NULL,
	step INTEGER NOT NULL,
	compressed TEXT COLLATE "C",
	compressed_through INTEGER NOT NULL,
	turn_until TEXT COLLATE "C",
	turn_by TEXT COLLATE "C",
	PRIMARY KEY (owner, id)
);

CREATE TABLE runs (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	agent_id TEXT COLLATE "C" NOT NULL,
	nature TEXT COLLATE "C" NOT NULL CHECK (nature IN ('scheduled', 'manual', 'chat', 're-examination')),
	status TEXT COLLATE "C" NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
	prompt TEXT COLLATE "C" NOT NULL,
	adapter TEXT COLLATE "C",
	model TEXT COLLATE "C",
	card_type TEXT COLLATE "C",
	card TEXT COLLATE "C",
	error TEXT COLLATE "C",
	parent_run TEXT COLLATE "C",
	lead_run TEXT COLLATE "C",
	specialist TEXT COLLATE "C",
	thread_id TEXT COLLATE "C",
	session_before TEXT COLLATE "C",
	session_after TEXT COLLATE "C",
	epoch INTEGER,
	step INTEGER,
	tokens_in INTEGER NOT NULL,
	tokens_out INTEGER NOT NULL,
	created_at TEXT COLLATE "C" NOT NULL,
	started_at TEXT COLLATE "C",
	finished_at TEXT COLLATE "C",
	PRIMARY KEY (owner, id),
	FOREIGN KEY(owner, agent_id) REFERENCES agents (owner, id),
	FOREIGN KEY(owner, parent_run) REFERENCES runs (owner, id),
	FOREIGN KEY(owner, lead_run) REFERENCES runs (owner, id),
	CONSTRAINT looks_again_at_one_run CHECK ((parent_run IS NOT NULL) = (nature = 're-examination' AND lead_run IS NULL)),
	CONSTRAINT a_specialist_has_a_lead CHECK ((specialist IS NOT NULL) = (lead_run IS NOT NULL)),
	CONSTRAINT ended_when_done CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed'))),
	CONSTRAINT a_card_is_a_result CHECK (card IS NULL OR (card_type IS NOT NULL AND status = 'succeeded')),
	CONSTRAINT a_failure_says_why CHECK ((error IS NOT NULL) = (status = 'failed')),
	CONSTRAINT success_moves CHECK (session_after IS NULL OR (step IS NOT NULL AND status = 'succeeded'))
);

CREATE INDEX runs_by_agent ON runs (owner, agent_id, created_at, id);
CREATE INDEX runs_by_creation ON runs (owner, created_at, id);
CREATE INDEX runs_by_lead ON runs (owner, lead_run) WHERE lead_run IS NOT NULL;
CREATE INDEX runs_by_parent ON runs (owner, parent_run) WHERE parent_run IS NOT NULL;
CREATE UNIQUE INDEX runs_by_step ON runs (owner, agent_id, step) WHERE step IS NOT NULL;

CREATE TABLE transcripts (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	run_id TEXT COLLATE "C" NOT NULL,
	turn INTEGER NOT NULL CHECK (turn >= 1),
	role TEXT COLLATE "C" NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
	text TEXT COLLATE "C" NOT NULL,
	parts TEXT COLLATE "C",
	at TEXT COLLATE "C" NOT NULL,
	tokens INTEGER NOT NULL,
	PRIMARY KEY (owner, run_id, turn),
	FOREIGN KEY(owner, run_id) REFERENCES runs (owner, id)
);

CREATE TABLE decisions (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	run_id TEXT COLLATE "C" NOT NULL,
	agent_id TEXT COLLATE "C" NOT NULL,
	card_type TEXT COLLATE "C" NOT NULL,
	decided_at TEXT COLLATE "C" NOT NULL,
	action TEXT COLLATE "C",
	symbol TEXT COLLATE "C",
	entry DOUBLE PRECISION,
	stop DOUBLE PRECISION,
	target DOUBLE PRECISION,
	conviction DOUBLE PRECISION,
	expires TEXT COLLATE "C",
	regime TEXT COLLATE "C",
	state TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'resolved', 'expired')),
	filled_at TEXT COLLATE "C",
	fill_price DOUBLE PRECISION,
	through TEXT COLLATE "C",
	last_close DOUBLE PRECISION,
	closed_at TEXT COLLATE "C",
	closed_by TEXT COLLATE "C" CHECK (closed_by IN ('bars', 'person')),
	outcome TEXT COLLATE "C" CHECK (outcome IN ('target', 'stop', 'time', 'exited', 'expired')),
	exit_price DOUBLE PRECISION,
	result_r DOUBLE PRECISION,
	result_pct DOUBLE PRECISION,
	note TEXT COLLATE "C",
	PRIMARY KEY (owner, run_id),
	FOREIGN KEY(owner, run_id) REFERENCES runs (owner, id),
	CONSTRAINT closed_when_not_open CHECK ((state = 'open') = (closed_at IS NULL)),
	CONSTRAINT closed_by_somebody CHECK ((closed_at IS NULL) = (closed_by IS NULL)),
	CONSTRAINT closed_with_an_outcome CHECK ((closed_at IS NULL) = (outcome IS NULL)),
	CONSTRAINT expired_is_an_outcome CHECK (outcome IS NULL OR (outcome = 'expired') = (state = 'expired'))
);

CREATE INDEX decisions_by_agent ON decisions (owner, agent_id, decided_at);
CREATE INDEX decisions_by_state ON decisions (owner, state, decided_at);

CREATE TABLE bars (
	symbol TEXT COLLATE "C" NOT NULL CHECK (symbol <> ''),
	timeframe TEXT COLLATE "C" NOT NULL,
	time TEXT COLLATE "C" NOT NULL,
	open DOUBLE PRECISION NOT NULL,
	high DOUBLE PRECISION NOT NULL,
	low DOUBLE PRECISION NOT NULL,
	close DOUBLE PRECISION NOT NULL,
	volume DOUBLE PRECISION,
	PRIMARY KEY (symbol, timeframe, time),
	CONSTRAINT within_its_range CHECK (low <= open AND low <= close AND high >= open AND high >= close)
);

CREATE INDEX bars_by_time ON bars (symbol, time);

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

-- Agents: a run begins without a result and ends once; what came of it is never rewritten, by nobody's second look.
CREATE FUNCTION keepbook_runs_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status NOT IN ('queued', 'running') OR NEW.step IS NOT NULL OR NEW.epoch IS NOT NULL
    OR (NEW.parent_run IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.parent_run AND agent_id = NEW.agent_id
        AND card IS NOT NULL AND nature <> 're-examination'))
    OR (NEW.lead_run IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.lead_run AND agent_id = NEW.agent_id AND lead_run IS NULL))
  THEN PERFORM keepbook_refuse('a run begins without a result, and a second look at a run that has one'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER runs_begin BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION keepbook_runs_begin();

CREATE FUNCTION keepbook_runs_end_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    OLD.status IN ('queued', 'running') AND (NEW.status <> 'queued' OR OLD.status = 'queued')
    AND (NEW.owner, NEW.id, NEW.agent_id, NEW.nature, NEW.prompt, NEW.card_type, NEW.parent_run, NEW.lead_run,
         NEW.specialist, NEW.thread_id, NEW.created_at)
      IS NOT DISTINCT FROM
        (OLD.owner, OLD.id, OLD.agent_id, OLD.nature, OLD.prompt, OLD.card_type, OLD.parent_run, OLD.lead_run,
         OLD.specialist, OLD.thread_id, OLD.created_at)
  ) THEN PERFORM keepbook_refuse('the result of a run is never changed'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER runs_end_once BEFORE UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION keepbook_runs_end_once();

CREATE FUNCTION keepbook_transcripts_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN PERFORM keepbook_refuse('what was said in a run is never rewritten'); END IF;
  IF NEW.turn <> 1 + coalesce((SELECT max(turn) FROM transcripts WHERE owner = NEW.owner AND run_id = NEW.run_id), 0)
    OR NOT EXISTS (SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.run_id AND status IN ('queued', 'running'))
  THEN PERFORM keepbook_refuse('a transcript grows turn by turn, while its run lasts'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER transcripts_append BEFORE INSERT OR UPDATE ON transcripts FOR EACH ROW EXECUTE FUNCTION keepbook_transcripts_append();

CREATE FUNCTION keepbook_decisions_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state <> 'open' OR NOT EXISTS (
    SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.run_id AND agent_id = NEW.agent_id
      AND card IS NOT NULL AND card_type = NEW.card_type AND nature <> 're-examination')
  THEN PERFORM keepbook_refuse('a decision begins open, with the card of a run'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER decisions_begin BEFORE INSERT ON decisions FOR EACH ROW EXECUTE FUNCTION keepbook_decisions_begin();

-- Closed at its expiry for want of bars, it may be looked at again when those come; else closed is closed.
CREATE FUNCTION keepbook_decisions_close_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    (NEW.owner, NEW.run_id, NEW.agent_id, NEW.card_type, NEW.decided_at, NEW.action, NEW.symbol, NEW.entry, NEW.stop,
     NEW.target, NEW.conviction, NEW.expires, NEW.regime)
      IS NOT DISTINCT FROM
        (OLD.owner, OLD.run_id, OLD.agent_id, OLD.card_type, OLD.decided_at, OLD.action, OLD.symbol, OLD.entry, OLD.stop,
         OLD.target, OLD.conviction, OLD.expires, OLD.regime)
    AND (
      OLD.state = 'open'
      OR (OLD.closed_by = 'bars' AND OLD.outcome IN ('time', 'expired') AND NEW.closed_by IS NOT DISTINCT FROM 'bars'
          AND coalesce(NEW.through, '') > coalesce(OLD.through, '')))
  ) THEN PERFORM keepbook_refuse('a decision keeps what it said, and is closed once'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER decisions_close_once BEFORE UPDATE ON decisions FOR EACH ROW EXECUTE FUNCTION keepbook_decisions_close_once();

CREATE TRIGGER agents_never_vanish BEFORE DELETE ON agents FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER runs_never_vanish BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER transcripts_never_vanish BEFORE DELETE ON transcripts FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER decisions_never_vanish BEFORE DELETE ON decisions FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER agents_never_truncated BEFORE TRUNCATE ON agents EXECUTE FUNCTION keepbook_never_truncated();
CREATE TRIGGER runs_never_truncated BEFORE TRUNCATE ON runs EXECUTE FUNCTION keepbook_never_truncated();
CREATE TRIGGER transcripts_never_truncated BEFORE TRUNCATE ON transcripts EXECUTE FUNCTION keepbook_never_truncated();
CREATE TRIGGER decisions_never_truncated BEFORE TRUNCATE ON decisions EXECUTE FUNCTION keepbook_never_truncated();

ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON agents USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE runs FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON runs USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

ALTER TABLE transcripts ENABLE ROW LEVEL SECURITY;
ALTER TABLE transcripts FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON transcripts USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

ALTER TABLE decisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE decisions FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON decisions USING (owner = current_setting('keepbook.owner', true))
  WITH CHECK (owner = current_setting('keepbook.owner', true));

GRANT SELECT, INSERT, UPDATE ON agents, bars TO keepbook_app;
GRANT SELECT, INSERT ON runs, transcripts, decisions TO keepbook_app;
GRANT UPDATE (status, adapter, model, card, error, session_before, session_after, epoch, step, tokens_in, tokens_out,
  started_at, finished_at) ON runs TO keepbook_app;
GRANT UPDATE (state, filled_at, fill_price, through, last_close, closed_at, closed_by, outcome, exit_price, result_r,
  result_pct, note) ON decisions TO keepbook_app;

-- Names mean this schema's tables and nothing else: a temporary table of the same name would come first otherwise,
-- and a guard would look at that one.
DO $$
DECLARE a_function regprocedure;
BEGIN
  FOR a_function IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'keepbook\_%' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', a_function, current_schema());
  END LOOP;
END $$;
