DROP INDEX bars_by_time;

CREATE TABLE market_events (
	id TEXT NOT NULL CHECK (id <> ''),
	kind TEXT NOT NULL CHECK (kind <> ''),
	time TEXT NOT NULL,
	importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
	title TEXT NOT NULL,
	symbols TEXT NOT NULL,
	known_at TEXT,
	PRIMARY KEY (id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX market_events_by_time ON market_events (time);

CREATE TABLE event_symbols (
	symbol TEXT NOT NULL CHECK (symbol <> ''),
	kind TEXT NOT NULL,
	time TEXT NOT NULL,
	event_id TEXT NOT NULL,
	PRIMARY KEY (symbol, kind, time, event_id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE skills (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
	description TEXT NOT NULL,
	created_at TEXT NOT NULL,
	ended_at TEXT,
	PRIMARY KEY (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE skill_fields (
	owner TEXT NOT NULL CHECK (owner <> ''),
	skill_id TEXT NOT NULL,
	field TEXT NOT NULL CHECK (field IN ('strategy', 'schedule', 'chat')),
	version INTEGER NOT NULL CHECK (version >= 1),
	value TEXT NOT NULL,
	recorded_at TEXT NOT NULL,
	actor TEXT NOT NULL CHECK (actor IN ('person', 'agent', 'extractor', 'job')),
	thread_id TEXT,
	PRIMARY KEY (owner, skill_id, field, version),
	FOREIGN KEY(owner, skill_id) REFERENCES skills (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE deployments (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	skill_id TEXT NOT NULL,
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
	account TEXT,
	capital REAL CHECK (capital > 0),
	currency TEXT DEFAULT 'USDT' NOT NULL,
	started_at TEXT,
	ended_at TEXT,
	created_at TEXT NOT NULL,
	PRIMARY KEY (owner, id),
	FOREIGN KEY(owner, skill_id) REFERENCES skills (owner, id),
	CONSTRAINT ends_after_it_started CHECK (ended_at >= started_at)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE positions (
	owner TEXT NOT NULL CHECK (owner <> ''),
	deployment_id TEXT NOT NULL,
	symbol TEXT NOT NULL CHECK (symbol <> ''),
	side TEXT NOT NULL CHECK (side IN ('long', 'short')),
	entry_time TEXT NOT NULL,
	known_at TEXT NOT NULL,
	entry_price REAL NOT NULL,
	quantity REAL NOT NULL CHECK (quantity > 0),
	closed_at TEXT,
	PRIMARY KEY (owner, deployment_id, symbol, side, entry_time, known_at),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE trades (
	owner TEXT NOT NULL CHECK (owner <> ''),
	deployment_id TEXT NOT NULL,
	exit_time TEXT NOT NULL,
	"key" TEXT NOT NULL CHECK (key <> ''),
	symbol TEXT NOT NULL CHECK (symbol <> ''),
	side TEXT NOT NULL CHECK (side IN ('long', 'short')),
	quantity REAL NOT NULL CHECK (quantity > 0),
	entry_time TEXT NOT NULL,
	entry_price REAL NOT NULL CHECK (entry_price > 0),
	exit_price REAL NOT NULL,
	fees REAL NOT NULL,
	pnl REAL NOT NULL,
	mfe REAL,
	mae REAL,
	entry_regime_tag TEXT,
	entry_reason TEXT,
	exit_reason TEXT,
	known_at TEXT NOT NULL,
	PRIMARY KEY (owner, deployment_id, exit_time, "key"),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id),
	CONSTRAINT entered_left_and_known CHECK (entry_time <= exit_time AND exit_time <= known_at)
)
 WITHOUT ROWID,
 STRICT;


CREATE TABLE lessons (
	owner TEXT NOT NULL CHECK (owner <> ''),
	memory_id TEXT NOT NULL,
	version INTEGER NOT NULL,
	finding TEXT NOT NULL,
	skill_id TEXT NOT NULL,
	deployment_id TEXT,
	known_at TEXT NOT NULL,
	window_from TEXT,
	window_until TEXT,
	trades INTEGER NOT NULL,
	wins INTEGER NOT NULL,
	mean REAL NOT NULL,
	median REAL NOT NULL,
	low REAL NOT NULL,
	high REAL NOT NULL,
	p REAL NOT NULL,
	tried INTEGER NOT NULL,
	withdrawn_at TEXT,
	PRIMARY KEY (owner, memory_id, version),
	FOREIGN KEY(owner, memory_id, version) REFERENCES versions (owner, memory_id, version),
	FOREIGN KEY(owner, skill_id) REFERENCES skills (owner, id),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX lessons_by_skill ON lessons (owner, skill_id, finding);

DROP TRIGGER erasures_take_a_memory;

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
  DELETE FROM lessons WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  DELETE FROM links WHERE owner = NEW.owner AND (from_id = NEW.memory_id OR to_id = NEW.memory_id);
  DELETE FROM terms WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  DELETE FROM likeness WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  UPDATE vector_spaces SET removed = removed + 1 WHERE owner = NEW.owner AND EXISTS (
    SELECT 1 FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id);
  DELETE FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id;
  UPDATE memories SET subject = NULL, subject_key = NULL, category = NULL, scope = NULL, purged_at = NEW.at
    WHERE owner = NEW.owner AND id = NEW.memory_id AND purged_at IS NULL;
END;

DROP TRIGGER erasures_take_the_book;

CREATE TRIGGER erasures_take_the_book AFTER INSERT ON erasures
WHEN NEW.memory_id = '*'
BEGIN
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
END;

-- Trading: what a skill said stays as it was said, version by version; what was traded and learnt goes only with the book.
CREATE TRIGGER skill_fields_follow_each_other BEFORE INSERT ON skill_fields
WHEN NEW.version <> 1 + coalesce((SELECT max(version) FROM skill_fields WHERE owner = NEW.owner AND skill_id = NEW.skill_id
                                    AND field = NEW.field), 0)
  OR NOT EXISTS (SELECT 1 FROM skills WHERE owner = NEW.owner AND id = NEW.skill_id)
BEGIN SELECT RAISE(ABORT, 'guard: the versions of a field are numbered without gaps'); END;

CREATE TRIGGER skill_fields_never_change BEFORE UPDATE ON skill_fields
BEGIN SELECT RAISE(ABORT, 'guard: what a skill said is never rewritten'); END;

CREATE TRIGGER lessons_are_not_replaced BEFORE INSERT ON lessons
WHEN EXISTS (SELECT 1 FROM lessons WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND version = NEW.version)
  OR NOT EXISTS (SELECT 1 FROM versions WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND version = NEW.version)
BEGIN SELECT RAISE(ABORT, 'guard: the figures of a lesson are never rewritten'); END;

CREATE TRIGGER lessons_keep_their_figures BEFORE UPDATE ON lessons
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.memory_id = OLD.memory_id AND NEW.version = OLD.version AND NEW.finding = OLD.finding
  AND NEW.skill_id = OLD.skill_id AND NEW.deployment_id IS OLD.deployment_id AND NEW.known_at = OLD.known_at
  AND NEW.window_from IS OLD.window_from AND NEW.window_until IS OLD.window_until AND NEW.trades = OLD.trades
  AND NEW.wins = OLD.wins AND NEW.mean = OLD.mean AND NEW.median = OLD.median AND NEW.low = OLD.low
  AND NEW.high = OLD.high AND NEW.p = OLD.p AND NEW.tried = OLD.tried
)
BEGIN SELECT RAISE(ABORT, 'guard: the figures of a lesson are never rewritten'); END;

CREATE TRIGGER lessons_never_vanish BEFORE DELETE ON lessons
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id IN ('*', OLD.memory_id))
BEGIN SELECT RAISE(ABORT, 'guard: the figures of a lesson go only with it'); END;

CREATE TRIGGER skills_are_not_replaced BEFORE INSERT ON skills
WHEN EXISTS (SELECT 1 FROM skills WHERE owner = NEW.owner AND id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'guard: a skill is changed, never replaced'); END;

CREATE TRIGGER deployments_are_not_replaced BEFORE INSERT ON deployments
WHEN EXISTS (SELECT 1 FROM deployments WHERE owner = NEW.owner AND id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'guard: a deployment is changed, never replaced'); END;

CREATE TRIGGER skills_never_vanish BEFORE DELETE ON skills
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from skills but by an erasure'); END;

CREATE TRIGGER skill_fields_never_vanish BEFORE DELETE ON skill_fields
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from skill_fields but by an erasure'); END;

CREATE TRIGGER deployments_never_vanish BEFORE DELETE ON deployments
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from deployments but by an erasure'); END;

CREATE TRIGGER positions_never_vanish BEFORE DELETE ON positions
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from positions but by an erasure'); END;

CREATE TRIGGER trades_never_vanish BEFORE DELETE ON trades
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from trades but by an erasure'); END;
