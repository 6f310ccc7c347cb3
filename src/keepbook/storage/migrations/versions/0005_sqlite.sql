CREATE TABLE agents (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
	instructions TEXT NOT NULL,
	default_prompt TEXT NOT NULL,
	model TEXT,
	adapter TEXT NOT NULL,
	card_type TEXT NOT NULL,
	schedule TEXT,
	team TEXT DEFAULT '[]' NOT NULL,
	use_block INTEGER NOT NULL CHECK (use_block IN (0, 1)),
	memory_enabled INTEGER NOT NULL CHECK (memory_enabled IN (0, 1)),
	review_decisions INTEGER NOT NULL CHECK (review_decisions IN (0, 1)),
	thread_id TEXT,
	created_at TEXT NOT NULL,
	updated_at TEXT NOT NULL,
	deleted_at TEXT,
	session TEXT,
	session_at TEXT,
	fresh_at TEXT,
	epoch INTEGER NOT NULL,
	step INTEGER NOT NULL,
	compressed TEXT,
	compressed_through INTEGER NOT NULL,
	turn_until TEXT,
	turn_by TEXT,
	PRIMARY KEY (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE runs (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	agent_id TEXT NOT NULL,
	nature TEXT NOT NULL CHECK (nature IN ('scheduled', 'manual', 'chat', 're-examination')),
	status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
	prompt TEXT NOT NULL,
	adapter TEXT,
	model TEXT,
	card_type TEXT,
	card TEXT,
	error TEXT,
	parent_run TEXT,
	lead_run TEXT,
	specialist TEXT,
	thread_id TEXT,
	session_before TEXT,
	session_after TEXT,
	epoch INTEGER,
	step INTEGER,
	tokens_in INTEGER NOT NULL,
	tokens_out INTEGER NOT NULL,
	created_at TEXT NOT NULL,
	started_at TEXT,
	finished_at TEXT,
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
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX runs_by_agent ON runs (owner, agent_id, created_at, id);
CREATE INDEX runs_by_creation ON runs (owner, created_at, id);
CREATE INDEX runs_by_lead ON runs (owner, lead_run) WHERE lead_run IS NOT NULL;
CREATE INDEX runs_by_parent ON runs (owner, parent_run) WHERE parent_run IS NOT NULL;
CREATE UNIQUE INDEX runs_by_step ON runs (owner, agent_id, step) WHERE step IS NOT NULL;

CREATE TABLE transcripts (
	owner TEXT NOT NULL CHECK (owner <> ''),
	run_id TEXT NOT NULL,
	turn INTEGER NOT NULL CHECK (turn >= 1),
	role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
	text TEXT NOT NULL,
	parts TEXT,
	at TEXT NOT NULL,
	tokens INTEGER NOT NULL,
	PRIMARY KEY (owner, run_id, turn),
	FOREIGN KEY(owner, run_id) REFERENCES runs (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE decisions (
	owner TEXT NOT NULL CHECK (owner <> ''),
	run_id TEXT NOT NULL,
	agent_id TEXT NOT NULL,
	card_type TEXT NOT NULL,
	decided_at TEXT NOT NULL,
	action TEXT,
	symbol TEXT,
	entry REAL,
	stop REAL,
	target REAL,
	conviction REAL,
	expires TEXT,
	regime TEXT,
	state TEXT NOT NULL CHECK (state IN ('open', 'resolved', 'expired')),
	filled_at TEXT,
	fill_price REAL,
	through TEXT,
	last_close REAL,
	closed_at TEXT,
	closed_by TEXT CHECK (closed_by IN ('bars', 'person')),
	outcome TEXT CHECK (outcome IN ('target', 'stop', 'time', 'exited', 'expired')),
	exit_price REAL,
	result_r REAL,
	result_pct REAL,
	note TEXT,
	PRIMARY KEY (owner, run_id),
	FOREIGN KEY(owner, run_id) REFERENCES runs (owner, id),
	CONSTRAINT closed_when_not_open CHECK ((state = 'open') = (closed_at IS NULL)),
	CONSTRAINT closed_by_somebody CHECK ((closed_at IS NULL) = (closed_by IS NULL)),
	CONSTRAINT closed_with_an_outcome CHECK ((closed_at IS NULL) = (outcome IS NULL)),
	CONSTRAINT expired_is_an_outcome CHECK (outcome IS NULL OR (outcome = 'expired') = (state = 'expired'))
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX decisions_by_agent ON decisions (owner, agent_id, decided_at);
CREATE INDEX decisions_by_state ON decisions (owner, state, decided_at);

CREATE TABLE bars (
	symbol TEXT NOT NULL CHECK (symbol <> ''),
	timeframe TEXT NOT NULL,
	time TEXT NOT NULL,
	open REAL NOT NULL,
	high REAL NOT NULL,
	low REAL NOT NULL,
	close REAL NOT NULL,
	volume REAL,
	PRIMARY KEY (symbol, timeframe, time),
	CONSTRAINT within_its_range CHECK (low <= open AND low <= close AND high >= open AND high >= close)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX bars_by_time ON bars (symbol, time);

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
END;

CREATE TRIGGER erasures_take_the_book AFTER INSERT ON erasures
WHEN NEW.memory_id = '*'
BEGIN
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
END;

-- Agents: a run begins without a result and ends once; what came of it is never rewritten, by nobody's second look.
CREATE TRIGGER runs_begin BEFORE INSERT ON runs
WHEN EXISTS (SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.id)
  OR NEW.status NOT IN ('queued', 'running') OR NEW.step IS NOT NULL OR NEW.epoch IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM agents WHERE owner = NEW.owner AND id = NEW.agent_id)
  OR (NEW.parent_run IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.parent_run AND agent_id = NEW.agent_id
      AND card IS NOT NULL AND nature <> 're-examination'))
  OR (NEW.lead_run IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.lead_run AND agent_id = NEW.agent_id AND lead_run IS NULL))
BEGIN SELECT RAISE(ABORT, 'guard: a run begins without a result, and a second look at a run that has one'); END;

CREATE TRIGGER runs_end_once BEFORE UPDATE ON runs
WHEN NOT (
  OLD.status IN ('queued', 'running') AND (NEW.status <> 'queued' OR OLD.status = 'queued')
  AND NEW.owner = OLD.owner AND NEW.id = OLD.id AND NEW.agent_id = OLD.agent_id AND NEW.nature = OLD.nature
  AND NEW.prompt = OLD.prompt AND NEW.card_type IS OLD.card_type AND NEW.parent_run IS OLD.parent_run
  AND NEW.lead_run IS OLD.lead_run AND NEW.specialist IS OLD.specialist AND NEW.thread_id IS OLD.thread_id
  AND NEW.created_at = OLD.created_at
  AND NOT (NEW.step IS NOT NULL AND EXISTS (
    SELECT 1 FROM runs WHERE owner = NEW.owner AND agent_id = NEW.agent_id AND step = NEW.step AND id <> NEW.id))
)
BEGIN SELECT RAISE(ABORT, 'guard: the result of a run is never changed'); END;

CREATE TRIGGER runs_never_vanish BEFORE DELETE ON runs
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from runs but by an erasure'); END;

CREATE TRIGGER agents_are_not_replaced BEFORE INSERT ON agents
WHEN EXISTS (SELECT 1 FROM agents WHERE owner = NEW.owner AND id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'guard: an agent is changed, never replaced'); END;

CREATE TRIGGER agents_never_vanish BEFORE DELETE ON agents
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from agents but by an erasure'); END;

CREATE TRIGGER transcripts_append BEFORE INSERT ON transcripts
WHEN NEW.turn <> 1 + coalesce((SELECT max(turn) FROM transcripts WHERE owner = NEW.owner AND run_id = NEW.run_id), 0)
  OR NOT EXISTS (SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.run_id AND status IN ('queued', 'running'))
BEGIN SELECT RAISE(ABORT, 'guard: a transcript grows turn by turn, while its run lasts'); END;

CREATE TRIGGER transcripts_never_change BEFORE UPDATE ON transcripts
BEGIN SELECT RAISE(ABORT, 'guard: what was said in a run is never rewritten'); END;

CREATE TRIGGER transcripts_never_vanish BEFORE DELETE ON transcripts
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from transcripts but by an erasure'); END;

CREATE TRIGGER decisions_begin BEFORE INSERT ON decisions
WHEN EXISTS (SELECT 1 FROM decisions WHERE owner = NEW.owner AND run_id = NEW.run_id)
  OR NEW.state <> 'open'
  OR NOT EXISTS (SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.run_id AND agent_id = NEW.agent_id
                   AND card IS NOT NULL AND card_type = NEW.card_type AND nature <> 're-examination')
BEGIN SELECT RAISE(ABORT, 'guard: a decision begins open, with the card of a run'); END;

-- Closed at its expiry for want of bars, it may be looked at again when those come; else closed is closed.
CREATE TRIGGER decisions_close_once BEFORE UPDATE ON decisions
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.run_id = OLD.run_id AND NEW.agent_id = OLD.agent_id AND NEW.card_type = OLD.card_type
  AND NEW.decided_at = OLD.decided_at AND NEW.action IS OLD.action AND NEW.symbol IS OLD.symbol
  AND NEW.entry IS OLD.entry AND NEW.stop IS OLD.stop AND NEW.target IS OLD.target
  AND NEW.conviction IS OLD.conviction AND NEW.expires IS OLD.expires AND NEW.regime IS OLD.regime
  AND (
    OLD.state = 'open'
    OR (OLD.closed_by = 'bars' AND OLD.outcome IN ('time', 'expired') AND NEW.closed_by = 'bars'
        AND NEW.through > coalesce(OLD.through, ''))
  )
)
BEGIN SELECT RAISE(ABORT, 'guard: a decision keeps what it said, and is closed once'); END;

CREATE TRIGGER decisions_never_vanish BEFORE DELETE ON decisions
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from decisions but by an erasure'); END;
