CREATE TABLE threads (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	session TEXT,
	agent TEXT,
	preset TEXT NOT NULL,
	title TEXT,
	titled_by TEXT CHECK (titled_by IN ('person', 'model', 'rules')),
	state TEXT NOT NULL CHECK (state IN ('active', 'idle', 'archived')),
	incognito INTEGER NOT NULL CHECK (incognito IN (0, 1)),
	tier TEXT,
	mode TEXT,
	focus TEXT,
	created_at TEXT NOT NULL,
	touched_at TEXT NOT NULL,
	deleted_at TEXT,
	turns INTEGER NOT NULL,
	summary TEXT,
	extracted_through INTEGER NOT NULL,
	closing_until TEXT,
	closing_by TEXT,
	failures INTEGER NOT NULL,
	failure TEXT,
	compressed_through INTEGER NOT NULL,
	compressed TEXT,
	PRIMARY KEY (owner, id),
	CONSTRAINT watermark_within_the_chat CHECK (extracted_through BETWEEN 0 AND turns)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX threads_by_touch ON threads (owner, touched_at, id);

CREATE UNIQUE INDEX threads_by_session ON threads (owner, session) WHERE session IS NOT NULL;

CREATE TABLE turn_terms (
	owner TEXT NOT NULL CHECK (owner <> ''),
	term TEXT NOT NULL,
	thread_id TEXT NOT NULL,
	turn INTEGER NOT NULL,
	weight REAL NOT NULL,
	PRIMARY KEY (owner, term, thread_id, turn)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE notes (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	text TEXT NOT NULL,
	thread_id TEXT,
	turn INTEGER,
	created_at TEXT NOT NULL,
	updated_at TEXT NOT NULL,
	PRIMARY KEY (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE proposals (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	nature TEXT NOT NULL CHECK (nature IN ('proposal', 'conflict')),
	status TEXT NOT NULL CHECK (status IN ('waiting', 'accepted', 'declined', 'expired')),
	op TEXT NOT NULL CHECK (op IN ('add', 'update', 'forget')),
	memory_id TEXT,
	category TEXT,
	subject TEXT,
	content TEXT NOT NULL,
	score REAL,
	made_by TEXT,
	thread_id TEXT,
	turn_ids TEXT DEFAULT '[]' NOT NULL,
	valid_from TEXT,
	reason TEXT,
	created_at TEXT NOT NULL,
	decided_at TEXT,
	PRIMARY KEY (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX proposals_by_status ON proposals (owner, status, created_at);

CREATE TABLE choices (
	owner TEXT NOT NULL CHECK (owner <> ''),
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (owner, name)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE meter (
	owner TEXT NOT NULL CHECK (owner <> ''),
	month TEXT NOT NULL,
	operation TEXT NOT NULL,
	model TEXT NOT NULL,
	calls INTEGER NOT NULL,
	tokens_in INTEGER NOT NULL,
	tokens_out INTEGER NOT NULL,
	PRIMARY KEY (owner, month, operation, model)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE due (
	owner TEXT NOT NULL CHECK (owner <> ''),
	work TEXT NOT NULL,
	id TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (owner, work, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX due_by_time ON due (at, owner);

CREATE TABLE messages (
	owner TEXT NOT NULL CHECK (owner <> ''),
	thread_id TEXT NOT NULL,
	turn INTEGER NOT NULL CHECK (turn >= 1),
	role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
	speaker TEXT,
	text TEXT NOT NULL,
	hidden TEXT,
	parts TEXT,
	at TEXT NOT NULL,
	tokens INTEGER NOT NULL,
	PRIMARY KEY (owner, thread_id, turn),
	FOREIGN KEY(owner, thread_id) REFERENCES threads (owner, id)
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
  UPDATE memories SET subject = NULL, subject_key = NULL, category = NULL, scope = NULL, purged_at = NEW.at
    WHERE owner = NEW.owner AND id = NEW.memory_id AND purged_at IS NULL;
END;

CREATE TRIGGER erasures_take_the_book AFTER INSERT ON erasures
WHEN NEW.memory_id = '*'
BEGIN
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

-- Chats: what was said is kept as it was said, until the whole chat goes.
CREATE TRIGGER messages_never_change BEFORE UPDATE ON messages
BEGIN SELECT RAISE(ABORT, 'guard: what was said in a chat is never rewritten'); END;

CREATE TRIGGER messages_follow_each_other BEFORE INSERT ON messages
WHEN NEW.turn <> 1 + coalesce((SELECT max(turn) FROM messages WHERE owner = NEW.owner AND thread_id = NEW.thread_id), 0)
BEGIN SELECT RAISE(ABORT, 'guard: the turns of a chat are numbered without gaps'); END;
