CREATE TABLE owners (
	owner TEXT NOT NULL CHECK (owner <> ''),
	created_at TEXT NOT NULL,
	preset TEXT,
	zone TEXT DEFAULT 'UTC' NOT NULL,
	PRIMARY KEY (owner)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE ledger (
	owner TEXT NOT NULL CHECK (owner <> ''),
	seq INTEGER NOT NULL,
	link INTEGER NOT NULL,
	at TEXT NOT NULL,
	actor TEXT NOT NULL CHECK (actor IN ('person', 'agent', 'extractor', 'job')),
	door TEXT NOT NULL,
	thread_id TEXT,
	action TEXT NOT NULL,
	memory_id TEXT,
	other_id TEXT,
	link_id TEXT,
	undoes INTEGER,
	"before" TEXT,
	"after" TEXT,
	salt TEXT,
	digest TEXT NOT NULL,
	previous TEXT NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (owner, seq)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX ledger_by_memory ON ledger (owner, memory_id, seq);

CREATE TABLE memories (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	category TEXT,
	subject TEXT CHECK (length(subject) <= 200),
	subject_key TEXT,
	scope TEXT,
	confidence TEXT NOT NULL CHECK (confidence IN ('asserted', 'inferred')),
	importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
	version INTEGER NOT NULL,
	created_at TEXT NOT NULL,
	edited_at TEXT NOT NULL,
	updated_at TEXT NOT NULL,
	last_confirmed_at TEXT,
	archived_at TEXT,
	archived_reason TEXT,
	trashed_at TEXT,
	purged_at TEXT,
	event INTEGER NOT NULL,
	PRIMARY KEY (owner, id),
	CONSTRAINT archived_with_a_reason CHECK ((archived_at IS NULL) = (archived_reason IS NULL))
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX memories_by_category ON memories (owner, category, created_at, id);

CREATE INDEX memories_by_creation ON memories (owner, created_at, id);

CREATE INDEX memories_by_importance ON memories (owner, importance, updated_at, id) WHERE archived_at IS NULL AND trashed_at IS NULL AND purged_at IS NULL;

CREATE INDEX memories_by_subject ON memories (owner, subject_key, created_at, id) WHERE subject_key IS NOT NULL;

CREATE TABLE block_rules (
	owner TEXT NOT NULL CHECK (owner <> ''),
	digest TEXT NOT NULL CHECK (length(digest) = 64),
	rules TEXT NOT NULL,
	PRIMARY KEY (owner, digest)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE erasures (
	owner TEXT NOT NULL CHECK (owner <> ''),
	memory_id TEXT NOT NULL,
	at TEXT NOT NULL,
	event INTEGER NOT NULL,
	PRIMARY KEY (owner, memory_id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE terms (
	owner TEXT NOT NULL CHECK (owner <> ''),
	term TEXT NOT NULL,
	memory_id TEXT NOT NULL,
	weight REAL NOT NULL,
	PRIMARY KEY (owner, term, memory_id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE likeness (
	owner TEXT NOT NULL CHECK (owner <> ''),
	"key" TEXT NOT NULL,
	memory_id TEXT NOT NULL,
	PRIMARY KEY (owner, "key", memory_id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE labels (
	owner TEXT NOT NULL CHECK (owner <> ''),
	"key" TEXT NOT NULL,
	memory_id TEXT NOT NULL,
	PRIMARY KEY (owner, "key", memory_id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE threads (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	session TEXT,
	agent TEXT,
	preset TEXT NOT NULL,
	title TEXT,
	titled_by TEXT CHECK (titled_by IN ('person', 'model', 'rules')),
	state TEXT NOT NULL CHECK (state IN ('active', 'idle', 'archived', 'going')),
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
	out_of_view TEXT,
	begun_by TEXT,
	PRIMARY KEY (owner, id),
	CONSTRAINT watermark_within_the_chat CHECK (extracted_through BETWEEN 0 AND turns)
)
 WITHOUT ROWID,
 STRICT;

CREATE UNIQUE INDEX threads_by_session ON threads (owner, session) WHERE session IS NOT NULL;

CREATE INDEX threads_by_touch ON threads (owner, touched_at, id);

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
	op TEXT NOT NULL CHECK (op IN ('add', 'update', 'end', 'forget', 'confirm')),
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
	question TEXT CHECK (question IN ('keep', 'over', 'change', 'which')),
	choices TEXT,
	valid_until TEXT,
	quoted INTEGER DEFAULT '0' NOT NULL CHECK (quoted IN (0, 1)),
	spans TEXT,
	said_on TEXT,
	asked_by TEXT,
	PRIMARY KEY (owner, id),
	CONSTRAINT a_question_has_choices CHECK ((question IS NULL) = (choices IS NULL)),
	CONSTRAINT a_quotation_offers_its_words CHECK ((spans IS NOT NULL) = (quoted = 1))
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
	agent TEXT,
	made_with TEXT,
	PRIMARY KEY (id),
	CONSTRAINT opens_one_book CHECK (owner IS NOT NULL OR kind = 'service' OR revoked_at IS NOT NULL),
	UNIQUE (hash)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX tokens_by_maker ON tokens (made_with);

CREATE INDEX tokens_by_owner ON tokens (owner, created_at);

CREATE TABLE identities (
	id TEXT NOT NULL CHECK (length(id) = 8),
	owner TEXT NOT NULL CHECK (owner <> ''),
	invitation TEXT,
	issuer TEXT,
	subject TEXT,
	created_at TEXT NOT NULL,
	expires_at TEXT,
	joined_at TEXT,
	ended_at TEXT,
	PRIMARY KEY (id),
	CONSTRAINT joined CHECK ((joined_at IS NULL) = (issuer IS NULL) AND (issuer IS NULL) = (subject IS NULL)),
	UNIQUE (invitation)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX identities_by_owner ON identities (owner);

CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject) WHERE ended_at IS NULL;

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
	"key" TEXT NOT NULL,
	request TEXT NOT NULL,
	status INTEGER NOT NULL,
	body TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (owner, "key")
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE loads (
	owner TEXT NOT NULL CHECK (owner <> ''),
	nth INTEGER NOT NULL,
	at TEXT NOT NULL,
	actor TEXT NOT NULL,
	what TEXT NOT NULL CHECK (what <> ''),
	title TEXT NOT NULL,
	deployment_id TEXT,
	trades INTEGER NOT NULL,
	fills INTEGER NOT NULL,
	brought TEXT NOT NULL,
	"before" TEXT NOT NULL,
	told TEXT NOT NULL,
	undone_at TEXT,
	gone TEXT,
	PRIMARY KEY (owner, nth),
	CONSTRAINT memories_have_no_deployment CHECK (what = 'trades' OR deployment_id IS NULL)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE extensions (
	name TEXT NOT NULL,
	nth INTEGER NOT NULL,
	version INTEGER NOT NULL,
	tables TEXT NOT NULL,
	PRIMARY KEY (name)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE armed (
	owner TEXT NOT NULL CHECK (owner <> ''),
	agent_id TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (owner, agent_id)
)
 WITHOUT ROWID,
 STRICT;

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
	second_looks INTEGER DEFAULT '0' NOT NULL CHECK (second_looks IN (0, 1)),
	run_seconds INTEGER CHECK (run_seconds > 0),
	run_tool_calls INTEGER CHECK (run_tool_calls > 0),
	run_tokens INTEGER CHECK (run_tokens > 0),
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

CREATE TABLE batches (
	nth INTEGER NOT NULL,
	source TEXT NOT NULL CHECK (source <> ''),
	link INTEGER NOT NULL,
	what TEXT NOT NULL CHECK (what IN ('bars', 'events')),
	at TEXT NOT NULL,
	came INTEGER NOT NULL,
	went INTEGER NOT NULL,
	spans TEXT NOT NULL,
	digest TEXT NOT NULL,
	previous TEXT NOT NULL,
	hash TEXT NOT NULL,
	settled INTEGER NOT NULL CHECK (settled IN (0, 1)),
	PRIMARY KEY (nth)
)
 WITHOUT ROWID,
 STRICT;

CREATE UNIQUE INDEX batches_by_source ON batches (source, link);

CREATE INDEX batches_to_settle ON batches (nth) WHERE settled = 0;

CREATE TABLE bars (
	symbol TEXT NOT NULL CHECK (symbol <> ''),
	timeframe TEXT NOT NULL,
	time TEXT NOT NULL,
	open REAL NOT NULL,
	high REAL NOT NULL,
	low REAL NOT NULL,
	close REAL NOT NULL,
	volume REAL,
	batch INTEGER NOT NULL,
	PRIMARY KEY (symbol, timeframe, time),
	CONSTRAINT within_its_range CHECK (low <= open AND low <= close AND high >= open AND high >= close)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE former_bars (
	symbol TEXT NOT NULL CHECK (symbol <> ''),
	timeframe TEXT NOT NULL,
	time TEXT NOT NULL,
	open REAL NOT NULL,
	high REAL NOT NULL,
	low REAL NOT NULL,
	close REAL NOT NULL,
	volume REAL,
	batch INTEGER NOT NULL,
	went INTEGER NOT NULL,
	until TEXT NOT NULL,
	PRIMARY KEY (symbol, timeframe, time, went)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE market_events (
	id TEXT NOT NULL CHECK (id <> ''),
	kind TEXT NOT NULL CHECK (kind <> ''),
	time TEXT NOT NULL,
	importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
	title TEXT NOT NULL,
	symbols TEXT NOT NULL,
	known_at TEXT,
	batch INTEGER NOT NULL,
	PRIMARY KEY (id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX market_events_by_time ON market_events (time);

CREATE TABLE former_events (
	id TEXT NOT NULL CHECK (id <> ''),
	kind TEXT NOT NULL CHECK (kind <> ''),
	time TEXT NOT NULL,
	importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
	title TEXT NOT NULL,
	symbols TEXT NOT NULL,
	known_at TEXT,
	batch INTEGER NOT NULL,
	went INTEGER NOT NULL,
	until TEXT NOT NULL,
	PRIMARY KEY (id, went)
)
 WITHOUT ROWID,
 STRICT;

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

CREATE TABLE splits (
	owner TEXT NOT NULL CHECK (owner <> ''),
	symbol TEXT NOT NULL CHECK (symbol <> ''),
	time TEXT NOT NULL,
	ratio TEXT NOT NULL CHECK (ratio <> ''),
	load INTEGER NOT NULL,
	PRIMARY KEY (owner, symbol, time)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE mappings (
	owner TEXT NOT NULL CHECK (owner <> ''),
	name TEXT NOT NULL CHECK (name <> ''),
	columns TEXT NOT NULL,
	PRIMARY KEY (owner, name)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE covers (
	owner TEXT NOT NULL CHECK (owner <> ''),
	link INTEGER NOT NULL,
	at TEXT NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	digest TEXT NOT NULL,
	previous TEXT NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (owner, link)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE seals (
	owner TEXT NOT NULL CHECK (owner <> ''),
	what TEXT NOT NULL,
	"key" TEXT NOT NULL,
	nth INTEGER NOT NULL,
	was INTEGER,
	salt TEXT,
	digest TEXT,
	PRIMARY KEY (owner, what, "key", nth)
)
 WITHOUT ROWID,
 STRICT;

CREATE UNIQUE INDEX seals_by_number ON seals (owner, nth);

CREATE TABLE mends (
	owner TEXT NOT NULL CHECK (owner <> ''),
	event INTEGER NOT NULL,
	link INTEGER NOT NULL,
	sealed INTEGER NOT NULL,
	at TEXT NOT NULL,
	rows INTEGER NOT NULL,
	kept TEXT NOT NULL,
	file TEXT NOT NULL,
	digest TEXT NOT NULL,
	PRIMARY KEY (owner, event)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE touched (
	owner TEXT NOT NULL CHECK (owner <> ''),
	what TEXT NOT NULL,
	"key" TEXT NOT NULL,
	fresh INTEGER NOT NULL,
	PRIMARY KEY (owner, what, "key")
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE versions (
	owner TEXT NOT NULL CHECK (owner <> ''),
	memory_id TEXT NOT NULL,
	version INTEGER NOT NULL CHECK (version >= 1),
	content TEXT CHECK (length(content) BETWEEN 4 AND 500),
	summary TEXT CHECK (length(summary) <= 200),
	body TEXT,
	metadata TEXT,
	tags TEXT,
	source TEXT NOT NULL CHECK (source IN ('profile', 'chat', 'inferred', 'extracted', 'imported')),
	score REAL CHECK (score BETWEEN 0 AND 1),
	made_by TEXT,
	thread_id TEXT,
	turn_ids TEXT DEFAULT '[]' NOT NULL,
	valid_from TEXT NOT NULL,
	valid_until TEXT,
	recorded_at TEXT NOT NULL,
	retired_at TEXT,
	restored_from INTEGER,
	correction INTEGER DEFAULT '0' NOT NULL CHECK (correction IN (0, 1)),
	quoted INTEGER DEFAULT '0' NOT NULL CHECK (quoted IN (0, 1)),
	spans TEXT,
	said_on TEXT CHECK (length(said_on) = 10),
	written_by TEXT,
	event INTEGER NOT NULL,
	PRIMARY KEY (owner, memory_id, version),
	FOREIGN KEY(owner, memory_id) REFERENCES memories (owner, id),
	CONSTRAINT only_extracted_has_a_score CHECK ((score IS NOT NULL) = (source = 'extracted')),
	CONSTRAINT retired_after_recorded CHECK (retired_at >= recorded_at),
	CONSTRAINT ends_after_it_began CHECK (valid_until > valid_from),
	CONSTRAINT a_quotation_names_its_words CHECK ((spans IS NOT NULL) = (quoted = 1 AND content IS NOT NULL)),
	CONSTRAINT only_a_quotation_has_its_day CHECK (said_on IS NULL OR quoted = 1)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX versions_with_a_time ON versions (owner, memory_id, version) WHERE valid_until IS NOT NULL OR valid_from > recorded_at;

CREATE TABLE links (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	from_id TEXT NOT NULL,
	to_id TEXT NOT NULL,
	relation TEXT NOT NULL CHECK (length(relation) BETWEEN 1 AND 40),
	created_at TEXT NOT NULL,
	removed_at TEXT,
	event INTEGER NOT NULL,
	PRIMARY KEY (owner, id),
	FOREIGN KEY(owner, from_id) REFERENCES memories (owner, id),
	FOREIGN KEY(owner, to_id) REFERENCES memories (owner, id),
	CONSTRAINT joins_two CHECK (from_id <> to_id)
)
 WITHOUT ROWID,
 STRICT;

CREATE UNIQUE INDEX links_from ON links (owner, from_id, to_id, relation) WHERE removed_at IS NULL;

CREATE INDEX links_to ON links (owner, to_id);

CREATE TABLE injections (
	owner TEXT NOT NULL CHECK (owner <> ''),
	space TEXT NOT NULL CHECK (space IN ('chat', 'outside')),
	session TEXT NOT NULL,
	at TEXT NOT NULL,
	preset TEXT NOT NULL,
	scope TEXT,
	seq INTEGER NOT NULL,
	nth INTEGER NOT NULL,
	block TEXT,
	lines TEXT,
	rules_digest TEXT,
	PRIMARY KEY (owner, space, session),
	FOREIGN KEY(owner, rules_digest) REFERENCES block_rules (owner, digest),
	CONSTRAINT lines_of_a_block CHECK (lines IS NULL OR block IS NOT NULL)
)
 WITHOUT ROWID,
 STRICT;

CREATE UNIQUE INDEX injections_by_number ON injections (owner, nth);

CREATE TABLE injected (
	owner TEXT NOT NULL CHECK (owner <> ''),
	memory_id TEXT NOT NULL,
	nth INTEGER NOT NULL,
	at TEXT NOT NULL,
	known TEXT NOT NULL,
	version INTEGER NOT NULL,
	space TEXT NOT NULL,
	session TEXT NOT NULL,
	injection INTEGER NOT NULL,
	PRIMARY KEY (owner, memory_id, nth),
	FOREIGN KEY(owner, memory_id) REFERENCES memories (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX injected_by_session ON injected (owner, space, session);

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
	model TEXT,
	tokens_in INTEGER,
	tokens_out INTEGER,
	instead_of INTEGER CHECK (instead_of >= 1 AND instead_of < turn),
	broke_off TEXT CHECK (broke_off IN ('stopped', 'left', 'failed')),
	recorded_by TEXT,
	unkept INTEGER CHECK (unkept = 1),
	PRIMARY KEY (owner, thread_id, turn),
	FOREIGN KEY(owner, thread_id) REFERENCES threads (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE page_sessions (
	hash TEXT NOT NULL,
	token_id TEXT,
	identity_id TEXT,
	created_at TEXT NOT NULL,
	expires_at TEXT NOT NULL,
	PRIMARY KEY (hash),
	CONSTRAINT made_with_one CHECK ((token_id IS NULL) <> (identity_id IS NULL)),
	FOREIGN KEY(token_id) REFERENCES tokens (id),
	FOREIGN KEY(identity_id) REFERENCES identities (id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX page_sessions_by_identity ON page_sessions (identity_id);

CREATE INDEX page_sessions_by_token ON page_sessions (token_id);

CREATE TABLE runs (
	owner TEXT NOT NULL CHECK (owner <> ''),
	id TEXT NOT NULL CHECK (length(id) = 8),
	agent_id TEXT NOT NULL,
	nature TEXT NOT NULL CHECK (nature IN ('scheduled', 'manual', 'chat', 'recorded', 're-examination')),
	status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
	prompt TEXT NOT NULL,
	adapter TEXT,
	model TEXT,
	card_type TEXT,
	card TEXT,
	error TEXT,
	error_code TEXT,
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
	made_at TEXT,
	"key" TEXT CHECK (length(key) BETWEEN 1 AND 200),
	link TEXT,
	prompt_version TEXT CHECK (length(prompt_version) BETWEEN 1 AND 80),
	retry_of TEXT,
	PRIMARY KEY (owner, id),
	FOREIGN KEY(owner, agent_id) REFERENCES agents (owner, id),
	FOREIGN KEY(owner, parent_run) REFERENCES runs (owner, id),
	FOREIGN KEY(owner, lead_run) REFERENCES runs (owner, id),
	CONSTRAINT looks_again_at_one_run CHECK ((parent_run IS NOT NULL) = (nature = 're-examination' AND lead_run IS NULL)),
	CONSTRAINT a_specialist_has_a_lead CHECK ((specialist IS NOT NULL) = (lead_run IS NOT NULL)),
	CONSTRAINT ended_when_done CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed'))),
	CONSTRAINT a_card_is_a_result CHECK (card IS NULL OR (card_type IS NOT NULL AND status = 'succeeded')),
	CONSTRAINT a_failure_says_why CHECK ((error IS NOT NULL) = (status = 'failed')),
	CONSTRAINT a_code_is_a_failures CHECK (error_code IS NULL OR status = 'failed'),
	CONSTRAINT success_moves CHECK (session_after IS NULL OR (step IS NOT NULL AND status = 'succeeded'))
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX runs_by_agent ON runs (owner, agent_id, created_at, id);

CREATE INDEX runs_by_creation ON runs (owner, created_at, id);

CREATE UNIQUE INDEX runs_by_key ON runs (owner, agent_id, "key") WHERE "key" IS NOT NULL;

CREATE INDEX runs_by_lead ON runs (owner, lead_run) WHERE lead_run IS NOT NULL;

CREATE INDEX runs_by_parent ON runs (owner, parent_run) WHERE parent_run IS NOT NULL;

CREATE UNIQUE INDEX runs_by_step ON runs (owner, agent_id, step) WHERE step IS NOT NULL;

CREATE TABLE brought_forecasts (
	owner TEXT NOT NULL CHECK (owner <> ''),
	agent_id TEXT NOT NULL,
	"key" TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
	load INTEGER NOT NULL,
	recorded_at TEXT NOT NULL,
	card_type TEXT NOT NULL,
	card TEXT NOT NULL,
	probability REAL NOT NULL CHECK (probability BETWEEN 0 AND 1),
	claim TEXT,
	made_at TEXT NOT NULL,
	expires TEXT NOT NULL,
	model TEXT,
	prompt_version TEXT CHECK (length(prompt_version) BETWEEN 1 AND 80),
	link TEXT,
	outcome TEXT CHECK (outcome IN ('true', 'false', 'void')),
	came_to TEXT,
	closed_at TEXT,
	answered_at TEXT,
	answer_load INTEGER,
	PRIMARY KEY (owner, agent_id, "key"),
	FOREIGN KEY(owner, agent_id) REFERENCES agents (owner, id),
	CONSTRAINT brought_with_its_date CHECK ((outcome IS NULL) = (closed_at IS NULL)),
	CONSTRAINT brought_by_a_load CHECK ((outcome IS NULL) = (answer_load IS NULL)),
	CONSTRAINT brought_at_an_instant CHECK ((outcome IS NULL) = (answered_at IS NULL))
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX brought_forecasts_by_load ON brought_forecasts (owner, load);

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
	removed_at TEXT,
	PRIMARY KEY (owner, id),
	FOREIGN KEY(owner, skill_id) REFERENCES skills (owner, id),
	CONSTRAINT ends_after_it_started CHECK (ended_at >= started_at)
)
 WITHOUT ROWID,
 STRICT;

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
	probability REAL CHECK (probability BETWEEN 0 AND 1),
	claim TEXT,
	event TEXT,
	recorded_at TEXT,
	state TEXT NOT NULL CHECK (state IN ('open', 'resolved', 'expired')),
	filled_at TEXT,
	fill_price REAL,
	through TEXT,
	last_close REAL,
	closed_at TEXT,
	closed_by TEXT CHECK (closed_by IN ('bars', 'person', 'agent', 'resolver')),
	outcome TEXT CHECK (outcome IN ('target', 'stop', 'time', 'exited', 'expired', 'true', 'false', 'void')),
	exit_price REAL,
	result_r REAL,
	result_pct REAL,
	note TEXT,
	came_to TEXT,
	resolver TEXT,
	settled_early TEXT,
	gap TEXT,
	known_at TEXT,
	PRIMARY KEY (owner, run_id),
	FOREIGN KEY(owner, run_id) REFERENCES runs (owner, id),
	CONSTRAINT closed_when_not_open CHECK ((state = 'open') = (closed_at IS NULL)),
	CONSTRAINT closed_by_somebody CHECK ((closed_at IS NULL) = (closed_by IS NULL)),
	CONSTRAINT closed_with_an_outcome CHECK ((closed_at IS NULL) = (outcome IS NULL)),
	CONSTRAINT expired_is_an_outcome CHECK (outcome IS NULL OR (outcome IN ('expired', 'void')) = (state = 'expired'))
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX decisions_by_agent ON decisions (owner, agent_id, decided_at);

CREATE INDEX decisions_by_state ON decisions (owner, state, decided_at);

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
	batch INTEGER NOT NULL,
	PRIMARY KEY (owner, deployment_id, exit_time, "key"),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id),
	CONSTRAINT entered_left_and_known CHECK (entry_time <= exit_time AND exit_time <= known_at)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE former_trades (
	owner TEXT NOT NULL,
	deployment_id TEXT NOT NULL,
	exit_time TEXT NOT NULL,
	"key" TEXT NOT NULL,
	symbol TEXT NOT NULL,
	side TEXT NOT NULL,
	quantity REAL NOT NULL,
	entry_time TEXT NOT NULL,
	entry_price REAL NOT NULL,
	exit_price REAL NOT NULL,
	fees REAL NOT NULL,
	pnl REAL NOT NULL,
	mfe REAL,
	mae REAL,
	entry_regime_tag TEXT,
	entry_reason TEXT,
	exit_reason TEXT,
	known_at TEXT NOT NULL,
	batch INTEGER NOT NULL,
	went INTEGER NOT NULL,
	until TEXT NOT NULL,
	PRIMARY KEY (owner, deployment_id, exit_time, "key", went),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX former_trades_by_end ON former_trades (owner, deployment_id, until);

CREATE TABLE trade_days (
	owner TEXT NOT NULL CHECK (owner <> ''),
	deployment_id TEXT NOT NULL,
	day TEXT NOT NULL,
	trades INTEGER,
	last TEXT,
	known_at TEXT,
	figures TEXT,
	parts TEXT,
	PRIMARY KEY (owner, deployment_id, day),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE TABLE fills (
	owner TEXT NOT NULL CHECK (owner <> ''),
	deployment_id TEXT NOT NULL,
	"key" TEXT NOT NULL CHECK (key <> ''),
	symbol TEXT NOT NULL CHECK (symbol <> ''),
	side TEXT NOT NULL CHECK (side IN ('buy', 'sell', 'funding', 'split', 'expiry')),
	time TEXT NOT NULL,
	quantity REAL NOT NULL,
	price REAL NOT NULL,
	fee REAL NOT NULL,
	multiplier REAL NOT NULL,
	remaining TEXT NOT NULL,
	reason TEXT,
	load INTEGER,
	PRIMARY KEY (owner, deployment_id, "key"),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
)
 WITHOUT ROWID,
 STRICT;

CREATE INDEX fills_by_time ON fills (owner, deployment_id, symbol, time);

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

CREATE TABLE former_results (
	owner TEXT NOT NULL CHECK (owner <> ''),
	run_id TEXT NOT NULL,
	nth INTEGER NOT NULL CHECK (nth >= 1),
	known_at TEXT NOT NULL,
	until TEXT NOT NULL,
	state TEXT,
	filled_at TEXT,
	fill_price REAL,
	through TEXT,
	last_close REAL,
	closed_at TEXT,
	closed_by TEXT,
	outcome TEXT,
	exit_price REAL,
	result_r REAL,
	result_pct REAL,
	note TEXT,
	came_to TEXT,
	resolver TEXT,
	settled_early TEXT,
	gap TEXT,
	PRIMARY KEY (owner, run_id, nth),
	FOREIGN KEY(owner, run_id) REFERENCES decisions (owner, run_id)
)
 WITHOUT ROWID,
 STRICT;

-- Each row that is touched is noted, for the ledger to cover it.
CREATE TRIGGER owners_made_is_noted AFTER INSERT ON owners BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'owners', '', 1);
END;
CREATE TRIGGER owners_changed_is_noted AFTER UPDATE OF "owner", "created_at", "preset", "zone" ON owners BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'owners', '', 0);
END;
CREATE TRIGGER owners_removed_is_noted AFTER DELETE ON owners BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'owners', '', 0);
END;
CREATE TRIGGER memories_made_is_noted AFTER INSERT ON memories WHEN NEW.purged_at IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'memories', NEW."id", 1);
END;
CREATE TRIGGER memories_changed_is_noted AFTER UPDATE OF "owner", "id", "category", "subject", "subject_key", "scope", "confidence", "importance", "version", "created_at", "edited_at", "updated_at", "last_confirmed_at", "archived_at", "archived_reason", "trashed_at", "purged_at", "event" ON memories WHEN NEW.purged_at IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'memories', NEW."id", 0);
END;
CREATE TRIGGER memories_removed_is_noted AFTER DELETE ON memories WHEN OLD.purged_at IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'memories', OLD."id", 0);
END;
CREATE TRIGGER versions_made_is_noted AFTER INSERT ON versions WHEN NEW.content IS NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'versions', NEW."memory_id" || char(31) || CAST(NEW.version AS TEXT), 1);
END;
CREATE TRIGGER versions_changed_is_noted AFTER UPDATE OF "owner", "memory_id", "version", "content", "summary", "body", "metadata", "tags", "source", "score", "made_by", "thread_id", "turn_ids", "valid_from", "valid_until", "recorded_at", "retired_at", "restored_from", "correction", "event", "quoted", "spans", "said_on", "written_by" ON versions WHEN NEW.content IS NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'versions', NEW."memory_id" || char(31) || CAST(NEW.version AS TEXT), 0);
END;
CREATE TRIGGER versions_removed_is_noted AFTER DELETE ON versions WHEN OLD.content IS NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'versions', OLD."memory_id" || char(31) || CAST(OLD.version AS TEXT), 0);
END;
CREATE TRIGGER block_rules_made_is_noted AFTER INSERT ON block_rules BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'block_rules', NEW."digest", 1);
END;
CREATE TRIGGER block_rules_changed_is_noted AFTER UPDATE OF "owner", "digest", "rules" ON block_rules BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'block_rules', OLD."digest", 0);
END;
CREATE TRIGGER block_rules_removed_is_noted AFTER DELETE ON block_rules BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'block_rules', OLD."digest", 0);
END;
CREATE TRIGGER injections_made_is_noted AFTER INSERT ON injections BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'injections', NEW."space" || char(31) || NEW."session", 1);
END;
CREATE TRIGGER injections_changed_is_noted AFTER UPDATE OF "owner", "space", "session", "at", "preset", "scope", "seq", "nth", "block", "lines", "rules_digest" ON injections BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'injections', OLD."space" || char(31) || OLD."session", 0);
END;
CREATE TRIGGER injections_removed_is_noted AFTER DELETE ON injections BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'injections', OLD."space" || char(31) || OLD."session", 0);
END;
CREATE TRIGGER injected_made_is_noted AFTER INSERT ON injected BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'injected', NEW."memory_id" || char(31) || CAST(NEW.nth AS TEXT), 1);
END;
CREATE TRIGGER injected_changed_is_noted AFTER UPDATE OF "owner", "memory_id", "nth", "at", "known", "version", "space", "session", "injection" ON injected BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'injected', OLD."memory_id" || char(31) || CAST(OLD.nth AS TEXT), 0);
END;
CREATE TRIGGER injected_removed_is_noted AFTER DELETE ON injected BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'injected', OLD."memory_id" || char(31) || CAST(OLD.nth AS TEXT), 0);
END;
CREATE TRIGGER erasures_made_is_noted AFTER INSERT ON erasures WHEN NEW.memory_id <> '*' BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'erasures', NEW."memory_id", 1);
END;
CREATE TRIGGER erasures_changed_is_noted AFTER UPDATE OF "owner", "memory_id", "at", "event" ON erasures WHEN NEW.memory_id <> '*' BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'erasures', NEW."memory_id", 0);
END;
CREATE TRIGGER erasures_removed_is_noted AFTER DELETE ON erasures WHEN OLD.memory_id <> '*' BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'erasures', OLD."memory_id", 0);
END;
CREATE TRIGGER threads_made_is_noted AFTER INSERT ON threads BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'threads', NEW."id", 1);
END;
CREATE TRIGGER threads_changed_is_noted AFTER UPDATE OF "owner", "id", "session", "agent", "preset", "title", "titled_by", "state", "incognito", "tier", "mode", "focus", "created_at", "touched_at", "deleted_at", "turns", "summary", "extracted_through", "failures", "failure", "compressed_through", "compressed", "out_of_view", "begun_by" ON threads BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'threads', OLD."id", 0);
END;
CREATE TRIGGER threads_removed_is_noted AFTER DELETE ON threads BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'threads', OLD."id", 0);
END;
CREATE TRIGGER messages_made_is_noted AFTER INSERT ON messages BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'messages', NEW."thread_id" || char(31) || CAST(NEW.turn AS TEXT), 1);
END;
CREATE TRIGGER messages_changed_is_noted AFTER UPDATE OF "owner", "thread_id", "turn", "role", "speaker", "text", "hidden", "parts", "at", "tokens", "model", "tokens_in", "tokens_out", "instead_of", "broke_off", "recorded_by", "unkept" ON messages BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'messages', OLD."thread_id" || char(31) || CAST(OLD.turn AS TEXT), 0);
END;
CREATE TRIGGER messages_removed_is_noted AFTER DELETE ON messages BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'messages', OLD."thread_id" || char(31) || CAST(OLD.turn AS TEXT), 0);
END;
CREATE TRIGGER notes_made_is_noted AFTER INSERT ON notes BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'notes', NEW."id", 1);
END;
CREATE TRIGGER notes_changed_is_noted AFTER UPDATE OF "owner", "id", "text", "thread_id", "turn", "created_at", "updated_at" ON notes BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'notes', OLD."id", 0);
END;
CREATE TRIGGER notes_removed_is_noted AFTER DELETE ON notes BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'notes', OLD."id", 0);
END;
CREATE TRIGGER proposals_made_is_noted AFTER INSERT ON proposals BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'proposals', NEW."id", 1);
END;
CREATE TRIGGER proposals_changed_is_noted AFTER UPDATE OF "owner", "id", "nature", "status", "op", "memory_id", "category", "subject", "content", "score", "made_by", "thread_id", "turn_ids", "valid_from", "reason", "created_at", "decided_at", "question", "choices", "valid_until", "quoted", "spans", "said_on", "asked_by" ON proposals BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'proposals', OLD."id", 0);
END;
CREATE TRIGGER proposals_removed_is_noted AFTER DELETE ON proposals BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'proposals', OLD."id", 0);
END;
CREATE TRIGGER choices_made_is_noted AFTER INSERT ON choices BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'choices', NEW."name", 1);
END;
CREATE TRIGGER choices_changed_is_noted AFTER UPDATE OF "owner", "name", "value" ON choices BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'choices', OLD."name", 0);
END;
CREATE TRIGGER choices_removed_is_noted AFTER DELETE ON choices BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'choices', OLD."name", 0);
END;
CREATE TRIGGER tokens_made_is_noted AFTER INSERT ON tokens WHEN NEW.owner IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'tokens', NEW."id", 1);
END;
CREATE TRIGGER tokens_changed_is_noted AFTER UPDATE OF "owner", "id", "hash", "kind", "scopes", "name", "created_at", "expires_at", "revoked_at", "agent", "made_with" ON tokens WHEN OLD.owner IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'tokens', OLD."id", 0);
END;
CREATE TRIGGER tokens_removed_is_noted AFTER DELETE ON tokens WHEN OLD.owner IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'tokens', OLD."id", 0);
END;
CREATE TRIGGER identities_made_is_noted AFTER INSERT ON identities WHEN NEW.owner IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'identities', NEW."id", 1);
END;
CREATE TRIGGER identities_changed_is_noted AFTER UPDATE OF "owner", "id", "invitation", "issuer", "subject", "created_at", "expires_at", "joined_at", "ended_at" ON identities WHEN OLD.owner IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'identities', OLD."id", 0);
END;
CREATE TRIGGER identities_removed_is_noted AFTER DELETE ON identities WHEN OLD.owner IS NOT NULL BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'identities', OLD."id", 0);
END;
CREATE TRIGGER loads_made_is_noted AFTER INSERT ON loads BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'loads', CAST(NEW.nth AS TEXT), 1);
END;
CREATE TRIGGER loads_changed_is_noted AFTER UPDATE OF "owner", "nth", "at", "actor", "what", "title", "deployment_id", "trades", "fills", "brought", "before", "told", "undone_at", "gone" ON loads BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'loads', CAST(OLD.nth AS TEXT), 0);
END;
CREATE TRIGGER loads_removed_is_noted AFTER DELETE ON loads BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'loads', CAST(OLD.nth AS TEXT), 0);
END;
CREATE TRIGGER agents_made_is_noted AFTER INSERT ON agents BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'agents', NEW."id", 1);
END;
CREATE TRIGGER agents_changed_is_noted AFTER UPDATE OF "owner", "id", "name", "instructions", "default_prompt", "model", "adapter", "card_type", "schedule", "team", "use_block", "memory_enabled", "review_decisions", "second_looks", "run_seconds", "run_tool_calls", "run_tokens", "thread_id", "created_at", "updated_at", "deleted_at", "session", "session_at", "fresh_at", "epoch", "step", "compressed", "compressed_through" ON agents BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'agents', OLD."id", 0);
END;
CREATE TRIGGER agents_removed_is_noted AFTER DELETE ON agents BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'agents', OLD."id", 0);
END;
CREATE TRIGGER runs_made_is_noted AFTER INSERT ON runs BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'runs', NEW."id", 1);
END;
CREATE TRIGGER runs_changed_is_noted AFTER UPDATE OF "owner", "id", "agent_id", "nature", "status", "prompt", "adapter", "model", "card_type", "card", "error", "error_code", "parent_run", "lead_run", "specialist", "thread_id", "session_before", "session_after", "epoch", "step", "tokens_in", "tokens_out", "created_at", "started_at", "finished_at", "made_at", "key", "link", "prompt_version", "retry_of" ON runs BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'runs', OLD."id", 0);
END;
CREATE TRIGGER runs_removed_is_noted AFTER DELETE ON runs BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'runs', OLD."id", 0);
END;
CREATE TRIGGER transcripts_made_is_noted AFTER INSERT ON transcripts BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'transcripts', NEW."run_id" || char(31) || CAST(NEW.turn AS TEXT), 1);
END;
CREATE TRIGGER transcripts_changed_is_noted AFTER UPDATE OF "owner", "run_id", "turn", "role", "text", "parts", "at", "tokens" ON transcripts BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'transcripts', OLD."run_id" || char(31) || CAST(OLD.turn AS TEXT), 0);
END;
CREATE TRIGGER transcripts_removed_is_noted AFTER DELETE ON transcripts BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'transcripts', OLD."run_id" || char(31) || CAST(OLD.turn AS TEXT), 0);
END;
CREATE TRIGGER decisions_made_is_noted AFTER INSERT ON decisions BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'decisions', NEW."run_id", 1);
END;
CREATE TRIGGER decisions_changed_is_noted AFTER UPDATE OF "owner", "run_id", "agent_id", "card_type", "decided_at", "action", "symbol", "entry", "stop", "target", "conviction", "expires", "regime", "probability", "claim", "event", "recorded_at", "state", "filled_at", "fill_price", "through", "last_close", "closed_at", "closed_by", "outcome", "exit_price", "result_r", "result_pct", "note", "came_to", "resolver", "settled_early", "gap", "known_at" ON decisions BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'decisions', OLD."run_id", 0);
END;
CREATE TRIGGER decisions_removed_is_noted AFTER DELETE ON decisions BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'decisions', OLD."run_id", 0);
END;
CREATE TRIGGER former_results_made_is_noted AFTER INSERT ON former_results BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'former_results', NEW."run_id" || char(31) || CAST(NEW.nth AS TEXT), 1);
END;
CREATE TRIGGER former_results_changed_is_noted AFTER UPDATE OF "owner", "run_id", "nth", "known_at", "until", "state", "filled_at", "fill_price", "through", "last_close", "closed_at", "closed_by", "outcome", "exit_price", "result_r", "result_pct", "note", "came_to", "resolver", "settled_early", "gap" ON former_results BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'former_results', OLD."run_id" || char(31) || CAST(OLD.nth AS TEXT), 0);
END;
CREATE TRIGGER former_results_removed_is_noted AFTER DELETE ON former_results BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'former_results', OLD."run_id" || char(31) || CAST(OLD.nth AS TEXT), 0);
END;
CREATE TRIGGER brought_forecasts_made_is_noted AFTER INSERT ON brought_forecasts BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'brought_forecasts', NEW."agent_id" || char(31) || NEW."key", 1);
END;
CREATE TRIGGER brought_forecasts_changed_is_noted AFTER UPDATE OF "owner", "agent_id", "key", "load", "recorded_at", "card_type", "card", "probability", "claim", "made_at", "expires", "model", "prompt_version", "link", "outcome", "came_to", "closed_at", "answered_at", "answer_load" ON brought_forecasts BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'brought_forecasts', OLD."agent_id" || char(31) || OLD."key", 0);
END;
CREATE TRIGGER brought_forecasts_removed_is_noted AFTER DELETE ON brought_forecasts BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'brought_forecasts', OLD."agent_id" || char(31) || OLD."key", 0);
END;
CREATE TRIGGER skills_made_is_noted AFTER INSERT ON skills BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'skills', NEW."id", 1);
END;
CREATE TRIGGER skills_changed_is_noted AFTER UPDATE OF "owner", "id", "name", "description", "created_at", "ended_at" ON skills BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'skills', OLD."id", 0);
END;
CREATE TRIGGER skills_removed_is_noted AFTER DELETE ON skills BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'skills', OLD."id", 0);
END;
CREATE TRIGGER skill_fields_made_is_noted AFTER INSERT ON skill_fields BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'skill_fields', NEW."skill_id" || char(31) || NEW."field" || char(31) || CAST(NEW.version AS TEXT), 1);
END;
CREATE TRIGGER skill_fields_changed_is_noted AFTER UPDATE OF "owner", "skill_id", "field", "version", "value", "recorded_at", "actor", "thread_id" ON skill_fields BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'skill_fields', OLD."skill_id" || char(31) || OLD."field" || char(31) || CAST(OLD.version AS TEXT), 0);
END;
CREATE TRIGGER skill_fields_removed_is_noted AFTER DELETE ON skill_fields BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'skill_fields', OLD."skill_id" || char(31) || OLD."field" || char(31) || CAST(OLD.version AS TEXT), 0);
END;
CREATE TRIGGER deployments_made_is_noted AFTER INSERT ON deployments BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'deployments', NEW."id", 1);
END;
CREATE TRIGGER deployments_changed_is_noted AFTER UPDATE OF "owner", "id", "skill_id", "name", "account", "capital", "currency", "started_at", "ended_at", "created_at", "removed_at" ON deployments BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'deployments', OLD."id", 0);
END;
CREATE TRIGGER deployments_removed_is_noted AFTER DELETE ON deployments BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'deployments', OLD."id", 0);
END;
CREATE TRIGGER positions_made_is_noted AFTER INSERT ON positions BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'positions', NEW."deployment_id" || char(31) || NEW."symbol" || char(31) || NEW."side" || char(31) || NEW."entry_time" || char(31) || NEW."known_at", 1);
END;
CREATE TRIGGER positions_changed_is_noted AFTER UPDATE OF "owner", "deployment_id", "symbol", "side", "entry_time", "known_at", "entry_price", "quantity", "closed_at" ON positions BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'positions', OLD."deployment_id" || char(31) || OLD."symbol" || char(31) || OLD."side" || char(31) || OLD."entry_time" || char(31) || OLD."known_at", 0);
END;
CREATE TRIGGER positions_removed_is_noted AFTER DELETE ON positions BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'positions', OLD."deployment_id" || char(31) || OLD."symbol" || char(31) || OLD."side" || char(31) || OLD."entry_time" || char(31) || OLD."known_at", 0);
END;
CREATE TRIGGER fills_made_is_noted AFTER INSERT ON fills BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'fills', NEW."deployment_id" || char(31) || NEW."key", 1);
END;
CREATE TRIGGER fills_changed_is_noted AFTER UPDATE OF "owner", "deployment_id", "key", "symbol", "side", "time", "quantity", "price", "fee", "multiplier", "remaining", "reason", "load" ON fills BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'fills', OLD."deployment_id" || char(31) || OLD."key", 0);
END;
CREATE TRIGGER fills_removed_is_noted AFTER DELETE ON fills BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'fills', OLD."deployment_id" || char(31) || OLD."key", 0);
END;
CREATE TRIGGER splits_made_is_noted AFTER INSERT ON splits BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'splits', NEW."symbol" || char(31) || NEW."time", 1);
END;
CREATE TRIGGER splits_changed_is_noted AFTER UPDATE OF "owner", "symbol", "time", "ratio", "load" ON splits BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'splits', OLD."symbol" || char(31) || OLD."time", 0);
END;
CREATE TRIGGER splits_removed_is_noted AFTER DELETE ON splits BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'splits', OLD."symbol" || char(31) || OLD."time", 0);
END;
CREATE TRIGGER mappings_made_is_noted AFTER INSERT ON mappings BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'mappings', NEW."name", 1);
END;
CREATE TRIGGER mappings_changed_is_noted AFTER UPDATE OF "owner", "name", "columns" ON mappings BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'mappings', OLD."name", 0);
END;
CREATE TRIGGER mappings_removed_is_noted AFTER DELETE ON mappings BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'mappings', OLD."name", 0);
END;
CREATE TRIGGER lessons_made_is_noted AFTER INSERT ON lessons BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'lessons', NEW."memory_id" || char(31) || CAST(NEW.version AS TEXT), 1);
END;
CREATE TRIGGER lessons_changed_is_noted AFTER UPDATE OF "owner", "memory_id", "version", "finding", "skill_id", "deployment_id", "known_at", "window_from", "window_until", "trades", "wins", "mean", "median", "low", "high", "p", "tried", "withdrawn_at" ON lessons BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'lessons', OLD."memory_id" || char(31) || CAST(OLD.version AS TEXT), 0);
END;
CREATE TRIGGER lessons_removed_is_noted AFTER DELETE ON lessons BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'lessons', OLD."memory_id" || char(31) || CAST(OLD.version AS TEXT), 0);
END;
CREATE TRIGGER mends_made_is_noted AFTER INSERT ON mends BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (NEW.owner, 'mends', CAST(NEW.event AS TEXT), 1);
END;
CREATE TRIGGER mends_changed_is_noted AFTER UPDATE OF "owner", "event", "link", "sealed", "at", "rows", "kept", "file", "digest" ON mends BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'mends', CAST(OLD.event AS TEXT), 0);
END;
CREATE TRIGGER mends_removed_is_noted AFTER DELETE ON mends BEGIN
  INSERT OR IGNORE INTO touched (owner, what, key, fresh) VALUES (OLD.owner, 'mends', CAST(OLD.event AS TEXT), 0);
END;

-- The guards of the book, as triggers. What raw SQL must not do either, the database refuses here.
-- Every change of a memory names, in `event`, the ledger entry that accounts for it.
-- INSERT OR REPLACE deletes without firing delete triggers, so inserts check for a row in the way themselves; and
-- foreign keys are asleep on a connection that did not wake them, so triggers look at the other end too.

-- The chain: entries and covers are its links, numbered without gaps, each on the one before it, of either kind. Where a
-- restored book was mended, what stands before that has gaps.
CREATE TRIGGER ledger_appends BEFORE INSERT ON ledger
WHEN (NEW.seq <> 1 + coalesce((SELECT max(seq) FROM ledger WHERE owner = NEW.owner), 0)
  OR NEW.at <= coalesce((SELECT at FROM ledger WHERE owner = NEW.owner AND seq = NEW.seq - 1), '')
  OR NEW.link <> 1 + max(coalesce((SELECT link FROM ledger WHERE owner = NEW.owner ORDER BY seq DESC LIMIT 1), 0),
                         coalesce((SELECT max(link) FROM covers WHERE owner = NEW.owner), 0))
  OR NEW.previous <> coalesce((SELECT hash FROM covers WHERE owner = NEW.owner AND link = NEW.link - 1),
                              (SELECT hash FROM ledger WHERE owner = NEW.owner AND seq = NEW.seq - 1), ''))
  AND NEW.link > coalesce((SELECT max(link) FROM mends WHERE owner = NEW.owner), 0)
BEGIN SELECT RAISE(ABORT, 'guard: a ledger entry follows the one before it, in number, hash and time'); END;

CREATE TRIGGER covers_append BEFORE INSERT ON covers
WHEN (NEW.link <> 1 + max(coalesce((SELECT link FROM ledger WHERE owner = NEW.owner ORDER BY seq DESC LIMIT 1), 0),
                         coalesce((SELECT max(link) FROM covers WHERE owner = NEW.owner), 0))
  OR NEW.previous <> coalesce((SELECT hash FROM covers WHERE owner = NEW.owner AND link = NEW.link - 1),
                              (SELECT hash FROM ledger WHERE owner = NEW.owner ORDER BY seq DESC LIMIT 1), '')
  OR NEW.first <> 1 + coalesce((SELECT last FROM covers WHERE owner = NEW.owner ORDER BY link DESC LIMIT 1), 0)
  OR NEW.last < NEW.first)
  AND NEW.link > coalesce((SELECT max(link) + 1 FROM mends WHERE owner = NEW.owner), 0)
BEGIN SELECT RAISE(ABORT, 'guard: a cover follows the link before it, in number and hash'); END;

CREATE TRIGGER covers_never_change BEFORE UPDATE ON covers
BEGIN SELECT RAISE(ABORT, 'guard: the ledger is append-only'); END;

-- Seals: numbered without gaps; only the salt may go, once the row is in another state.
CREATE TRIGGER seals_append BEFORE INSERT ON seals
WHEN NEW.nth <> 1 + coalesce((SELECT max(nth) FROM seals WHERE owner = NEW.owner), 0)
  AND NEW.nth > coalesce((SELECT max(sealed) + 1 FROM mends WHERE owner = NEW.owner), 0)
BEGIN SELECT RAISE(ABORT, 'guard: seals are numbered without gaps'); END;

CREATE TRIGGER mends_come_before_the_chain BEFORE INSERT ON mends
WHEN EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner) OR EXISTS (SELECT 1 FROM covers WHERE owner = NEW.owner)
  OR EXISTS (SELECT 1 FROM mends WHERE owner = NEW.owner AND event = NEW.event)
BEGIN SELECT RAISE(ABORT, 'guard: a book is mended by its operator alone'); END;

CREATE TRIGGER seals_never_change BEFORE UPDATE ON seals
WHEN NOT (
  NEW.salt IS NULL AND NEW.owner = OLD.owner AND NEW.nth = OLD.nth AND NEW.what = OLD.what AND NEW.key = OLD.key
  AND NEW.was IS OLD.was AND NEW.digest IS OLD.digest
  AND EXISTS (SELECT 1 FROM seals WHERE owner = OLD.owner AND what = OLD.what AND key = OLD.key AND was = OLD.nth)
)
BEGIN SELECT RAISE(ABORT, 'guard: a seal is never rewritten'); END;

CREATE TRIGGER ledger_never_changes BEFORE UPDATE ON ledger
WHEN NOT (
  EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id IN (OLD.memory_id, OLD.other_id))
  AND NEW.before IS NULL AND NEW.after IS NULL AND NEW.salt IS NULL
  AND NEW.owner = OLD.owner AND NEW.seq = OLD.seq AND NEW.at = OLD.at AND NEW.actor = OLD.actor
  AND NEW.door = OLD.door AND NEW.thread_id IS OLD.thread_id AND NEW.action = OLD.action
  AND NEW.memory_id IS OLD.memory_id AND NEW.other_id IS OLD.other_id AND NEW.link_id IS OLD.link_id
  AND NEW.link = OLD.link AND NEW.undoes IS OLD.undoes AND NEW.digest = OLD.digest AND NEW.previous = OLD.previous AND NEW.hash = OLD.hash
)
BEGIN SELECT RAISE(ABORT, 'guard: the ledger is append-only'); END;

-- Memories: a change comes with a newer ledger entry about this memory.
CREATE TRIGGER memories_begin_in_the_ledger BEFORE INSERT ON memories
WHEN NOT EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event AND memory_id = NEW.id AND link_id IS NULL)
  OR EXISTS (SELECT 1 FROM memories WHERE owner = NEW.owner AND id = NEW.id)
  OR (NEW.purged_at IS NULL AND (NEW.version <> 1 OR NEW.last_confirmed_at IS NOT NULL))
  OR (NEW.purged_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM erasures WHERE owner = NEW.owner AND memory_id = NEW.id))
BEGIN SELECT RAISE(ABORT, 'guard: a memory begins with a ledger entry'); END;

CREATE TRIGGER memories_change_in_the_ledger BEFORE UPDATE ON memories
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.id = OLD.id AND NEW.created_at = OLD.created_at
  AND OLD.purged_at IS NULL
  AND (
    (NEW.purged_at IS NULL AND NEW.event > OLD.event
     AND NEW.version = (SELECT max(version) FROM versions WHERE owner = NEW.owner AND memory_id = NEW.id)
     AND EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event AND memory_id = NEW.id AND link_id IS NULL))
    OR (NEW.purged_at IS NOT NULL AND NEW.subject IS NULL
        AND EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = OLD.id))
  )
)
BEGIN SELECT RAISE(ABORT, 'guard: a memory changes only with a ledger entry of its own'); END;

CREATE TRIGGER memories_are_a_persons_to_drop BEFORE UPDATE ON memories
WHEN NEW.purged_at IS NULL
  AND (SELECT actor FROM ledger WHERE owner = NEW.owner AND seq = NEW.event) IN ('extractor', 'job')
  AND (
    (NEW.confidence = 'asserted' AND OLD.confidence = 'inferred')
    OR NEW.last_confirmed_at IS NOT OLD.last_confirmed_at
    OR (
      ((NEW.archived_at IS NOT NULL AND OLD.archived_at IS NULL)
       OR (NEW.trashed_at IS NOT NULL AND OLD.trashed_at IS NULL)
       OR (NEW.confidence = 'inferred' AND OLD.confidence = 'asserted'))
      AND (OLD.confidence = 'asserted' OR OLD.last_confirmed_at IS NOT NULL
           OR (SELECT source FROM versions WHERE owner = OLD.owner AND memory_id = OLD.id AND version = OLD.version)
              NOT IN ('extracted', 'inferred'))
    )
  )
BEGIN SELECT RAISE(ABORT, 'guard: automation may not overrule a person'); END;

-- Versions: numbered without gaps, each ending the one before it, nothing rewritten, and the person's word first.
CREATE TRIGGER versions_follow_each_other BEFORE INSERT ON versions
WHEN NEW.version <> 1 + coalesce((SELECT max(version) FROM versions WHERE owner = NEW.owner AND memory_id = NEW.memory_id), 0)
  OR EXISTS (SELECT 1 FROM versions WHERE owner = NEW.owner AND memory_id = NEW.memory_id
               AND version = NEW.version - 1 AND (recorded_at >= NEW.recorded_at OR retired_at > NEW.recorded_at))
  OR NOT EXISTS (SELECT 1 FROM memories WHERE owner = NEW.owner AND id = NEW.memory_id)
  OR NOT EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event AND memory_id = NEW.memory_id
                   AND at = NEW.recorded_at AND link_id IS NULL)
BEGIN SELECT RAISE(ABORT, 'guard: a version follows the one before it and stands in the ledger'); END;

-- What was erased comes in blank (a restored export), and no further than it went.
CREATE TRIGGER versions_say_something BEFORE INSERT ON versions
WHEN CASE WHEN EXISTS (SELECT 1 FROM erasures WHERE owner = NEW.owner AND memory_id = NEW.memory_id)
  THEN NOT (NEW.content IS NULL AND NEW.summary IS NULL AND NEW.body IS NULL AND NEW.metadata IS NULL AND NEW.tags IS NULL AND NEW.spans IS NULL)
    OR NEW.version > (SELECT version FROM memories WHERE owner = NEW.owner AND id = NEW.memory_id)
  ELSE NEW.content IS NULL OR NEW.retired_at IS NOT NULL END
BEGIN SELECT RAISE(ABORT, 'guard: a version has content and is current until it is erased'); END;

CREATE TRIGGER versions_end_the_one_before AFTER INSERT ON versions WHEN NEW.version > 1
BEGIN
  UPDATE versions SET retired_at = NEW.recorded_at
    WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND version = NEW.version - 1 AND retired_at IS NULL;
END;

CREATE TRIGGER versions_respect_a_persons_word BEFORE INSERT ON versions
WHEN NEW.version > 1 AND NEW.content IS NOT NULL
  AND (NEW.source IN ('extracted', 'inferred')
       OR (SELECT actor FROM ledger WHERE owner = NEW.owner AND seq = NEW.event) IN ('extractor', 'job'))
  AND EXISTS (
    SELECT 1 FROM memories m JOIN versions v ON v.owner = m.owner AND v.memory_id = m.id AND v.version = NEW.version - 1
    WHERE m.owner = NEW.owner AND m.id = NEW.memory_id
      AND (m.confidence = 'asserted' OR m.last_confirmed_at IS NOT NULL OR v.source NOT IN ('extracted', 'inferred')))
  AND NOT (
    (SELECT actor FROM ledger WHERE owner = NEW.owner AND seq = NEW.event) = 'person'
    AND EXISTS (
      SELECT 1 FROM versions r
      WHERE r.owner = NEW.owner AND r.memory_id = NEW.memory_id AND r.version = NEW.restored_from
        AND r.content IS NEW.content AND r.summary IS NEW.summary AND r.body IS NEW.body AND r.metadata IS NEW.metadata AND r.tags IS NEW.tags AND r.source IS NEW.source AND r.score IS NEW.score AND r.made_by IS NEW.made_by AND r.thread_id IS NEW.thread_id AND r.turn_ids IS NEW.turn_ids AND r.valid_from IS NEW.valid_from AND r.valid_until IS NEW.valid_until AND r.quoted IS NEW.quoted AND r.spans IS NEW.spans AND r.said_on IS NEW.said_on AND r.written_by IS NEW.written_by))
BEGIN SELECT RAISE(ABORT, 'guard: automation may not overrule a person'); END;

CREATE TRIGGER versions_read_by_software_are_inferred BEFORE INSERT ON versions
WHEN NEW.version = 1 AND NEW.content IS NOT NULL AND NEW.source IN ('extracted', 'inferred')
  AND (SELECT confidence FROM memories WHERE owner = NEW.owner AND id = NEW.memory_id) <> 'inferred'
BEGIN SELECT RAISE(ABORT, 'guard: what software read is inferred until a person promotes it'); END;

CREATE TRIGGER versions_never_change BEFORE UPDATE ON versions
WHEN NOT (
  NEW.owner IS OLD.owner AND NEW.memory_id IS OLD.memory_id AND NEW.version IS OLD.version AND NEW.source IS OLD.source AND NEW.score IS OLD.score AND NEW.made_by IS OLD.made_by AND NEW.thread_id IS OLD.thread_id AND NEW.turn_ids IS OLD.turn_ids AND NEW.valid_from IS OLD.valid_from AND NEW.valid_until IS OLD.valid_until AND NEW.recorded_at IS OLD.recorded_at AND NEW.restored_from IS OLD.restored_from AND NEW.correction IS OLD.correction AND NEW.quoted IS OLD.quoted AND NEW.said_on IS OLD.said_on AND NEW.written_by IS OLD.written_by AND NEW.event IS OLD.event
  AND (
    (NEW.content IS OLD.content AND NEW.summary IS OLD.summary AND NEW.body IS OLD.body AND NEW.metadata IS OLD.metadata AND NEW.tags IS OLD.tags AND NEW.spans IS OLD.spans
     AND OLD.retired_at IS NULL AND NEW.retired_at IS NOT NULL
     AND EXISTS (SELECT 1 FROM versions WHERE owner = OLD.owner AND memory_id = OLD.memory_id
                   AND version = OLD.version + 1 AND recorded_at = NEW.retired_at))
    OR (NEW.content IS NULL AND NEW.summary IS NULL AND NEW.body IS NULL AND NEW.metadata IS NULL AND NEW.tags IS NULL AND NEW.spans IS NULL
        AND NEW.retired_at IS OLD.retired_at
        AND EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = OLD.memory_id))
  )
)
BEGIN SELECT RAISE(ABORT, 'guard: a version is never rewritten'); END;

-- Links: what they join stays; only standing or removed may change, with a ledger entry.
CREATE TRIGGER links_begin_in_the_ledger BEFORE INSERT ON links
WHEN NOT EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event AND link_id = NEW.id)
  OR EXISTS (SELECT 1 FROM links WHERE owner = NEW.owner AND (id = NEW.id OR (NEW.removed_at IS NULL AND removed_at IS NULL
               AND from_id = NEW.from_id AND to_id = NEW.to_id AND relation = NEW.relation)))
  OR 2 <> (SELECT count(*) FROM memories WHERE owner = NEW.owner AND id IN (NEW.from_id, NEW.to_id))
BEGIN SELECT RAISE(ABORT, 'guard: a link begins with a ledger entry and joins two memories of one owner'); END;

CREATE TRIGGER links_keep_their_ends BEFORE UPDATE ON links
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.id = OLD.id AND NEW.from_id = OLD.from_id AND NEW.to_id = OLD.to_id
  AND NEW.relation = OLD.relation AND NEW.created_at = OLD.created_at AND NEW.event > OLD.event
  AND EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event AND link_id = NEW.id)
  AND NOT (NEW.removed_at IS NULL AND EXISTS (
    SELECT 1 FROM links WHERE owner = NEW.owner AND id <> NEW.id AND removed_at IS NULL
      AND from_id = NEW.from_id AND to_id = NEW.to_id AND relation = NEW.relation))
)
BEGIN SELECT RAISE(ABORT, 'guard: a link keeps its ends and changes only with a ledger entry'); END;

CREATE TRIGGER links_never_vanish BEFORE DELETE ON links
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id IN ('*', OLD.from_id, OLD.to_id))
BEGIN SELECT RAISE(ABORT, 'guard: a link is removed in the ledger, never deleted'); END;

-- Injections: what a session saw stays as it was, unless a purge blanked it.
CREATE TRIGGER injections_never_change BEFORE UPDATE ON injections
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.space = OLD.space AND NEW.session = OLD.session
  AND NEW.preset = OLD.preset AND NEW.scope IS OLD.scope
  AND (
    OLD.block IS NULL
    OR (NEW.block IS NULL AND NEW.at = OLD.at AND NEW.seq = OLD.seq AND NEW.nth = OLD.nth
        AND NEW.rules_digest IS OLD.rules_digest AND EXISTS (
      SELECT 1 FROM injected i JOIN erasures e ON e.owner = i.owner AND e.memory_id = i.memory_id
      WHERE i.owner = OLD.owner AND i.space = OLD.space AND i.session = OLD.session AND e.event > OLD.seq))
  )
)
BEGIN SELECT RAISE(ABORT, 'guard: an injection is never rewritten'); END;

CREATE TRIGGER injections_happen_once BEFORE INSERT ON injections
WHEN EXISTS (SELECT 1 FROM injections WHERE owner = NEW.owner AND space = NEW.space AND session = NEW.session)
BEGIN SELECT RAISE(ABORT, 'guard: an injection is never rewritten'); END;

CREATE TRIGGER injected_follow_each_other BEFORE INSERT ON injected
WHEN NEW.nth <> 1 + coalesce((SELECT max(nth) FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id), 0)
  OR NOT EXISTS (SELECT 1 FROM memories WHERE owner = NEW.owner AND id = NEW.memory_id)
BEGIN SELECT RAISE(ABORT, 'guard: injections are counted without gaps'); END;

-- Erasures: naming what goes is what makes it go.
CREATE TRIGGER erasures_stand_in_the_ledger BEFORE INSERT ON erasures
WHEN EXISTS (SELECT 1 FROM erasures WHERE owner = NEW.owner AND memory_id = NEW.memory_id) OR NEW.memory_id <> '*' AND (
  NOT EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event
                AND memory_id = NEW.memory_id AND action = 'purge' AND actor <> 'extractor')
  OR EXISTS (SELECT 1 FROM memories m JOIN ledger l ON l.owner = m.owner AND l.seq = NEW.event
             WHERE m.owner = NEW.owner AND m.id = NEW.memory_id AND l.actor = 'job' AND m.trashed_at IS NULL)
)
BEGIN SELECT RAISE(ABORT, 'guard: an erasure stands in the ledger; a job erases only what a person put in the trash'); END;

CREATE TRIGGER erasures_never_change BEFORE UPDATE ON erasures
BEGIN SELECT RAISE(ABORT, 'guard: an erasure is never taken back'); END;

CREATE TRIGGER erasures_take_a_memory AFTER INSERT ON erasures
WHEN NEW.memory_id <> '*'
BEGIN
  UPDATE versions SET content = NULL, summary = NULL, body = NULL, metadata = NULL, tags = NULL, spans = NULL
    WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND content IS NOT NULL;
  UPDATE ledger SET before = NULL, after = NULL, salt = NULL
    WHERE owner = NEW.owner AND salt IS NOT NULL AND (memory_id = NEW.memory_id OR other_id = NEW.memory_id);
  UPDATE injections SET block = NULL, lines = NULL
    WHERE owner = NEW.owner AND block IS NOT NULL AND (space, session) IN (
      SELECT space, session FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id);
  UPDATE threads SET summary = NULL, compressed = NULL
    WHERE owner = NEW.owner AND (summary IS NOT NULL OR compressed IS NOT NULL) AND (
      id IN (SELECT thread_id FROM versions WHERE owner = NEW.owner AND memory_id = NEW.memory_id)
      OR id IN (SELECT session FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND space = 'chat')
      OR session IN (SELECT session FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND space = 'outside'));
  DELETE FROM proposals WHERE owner = NEW.owner AND (memory_id = NEW.memory_id OR instr(choices, NEW.memory_id) > 0);
  DELETE FROM answers WHERE owner = NEW.owner;
DELETE FROM lessons WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
UPDATE agents SET compressed = NULL WHERE owner = NEW.owner AND (compressed IS NOT NULL) AND id IN (
  SELECT r.agent_id FROM runs r JOIN injected i ON i.owner = r.owner AND i.session = r.id AND i.space = 'chat'
  WHERE r.owner = NEW.owner AND i.memory_id = NEW.memory_id);
DELETE FROM labels WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
DELETE FROM likeness WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
DELETE FROM terms WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  DELETE FROM links WHERE owner = NEW.owner AND (from_id = NEW.memory_id OR to_id = NEW.memory_id);
  UPDATE vector_spaces SET removed = removed + 1 WHERE owner = NEW.owner AND EXISTS (
    SELECT 1 FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id);
  DELETE FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id;
  UPDATE memories SET subject = NULL, subject_key = NULL, category = NULL, scope = NULL, purged_at = NEW.at
    WHERE owner = NEW.owner AND id = NEW.memory_id AND purged_at IS NULL;
END;

-- With a negative event it only lets the rows go, which are then deleted piece by piece.
CREATE TRIGGER erasures_take_the_book AFTER INSERT ON erasures
WHEN NEW.memory_id = '*' AND NEW.event >= 0
BEGIN
DELETE FROM former_results WHERE owner = NEW.owner;
DELETE FROM lessons WHERE owner = NEW.owner;
DELETE FROM fills WHERE owner = NEW.owner;
DELETE FROM trade_days WHERE owner = NEW.owner;
DELETE FROM former_trades WHERE owner = NEW.owner;
DELETE FROM trades WHERE owner = NEW.owner;
DELETE FROM positions WHERE owner = NEW.owner;
DELETE FROM decisions WHERE owner = NEW.owner;
DELETE FROM transcripts WHERE owner = NEW.owner;
DELETE FROM deployments WHERE owner = NEW.owner;
DELETE FROM skill_fields WHERE owner = NEW.owner;
DELETE FROM brought_forecasts WHERE owner = NEW.owner;
DELETE FROM runs WHERE owner = NEW.owner;
DELETE FROM messages WHERE owner = NEW.owner;
DELETE FROM injected WHERE owner = NEW.owner;
DELETE FROM injections WHERE owner = NEW.owner;
DELETE FROM links WHERE owner = NEW.owner;
DELETE FROM versions WHERE owner = NEW.owner;
DELETE FROM mends WHERE owner = NEW.owner;
DELETE FROM seals WHERE owner = NEW.owner;
DELETE FROM covers WHERE owner = NEW.owner;
DELETE FROM mappings WHERE owner = NEW.owner;
DELETE FROM splits WHERE owner = NEW.owner;
DELETE FROM skills WHERE owner = NEW.owner;
DELETE FROM agents WHERE owner = NEW.owner;
DELETE FROM armed WHERE owner = NEW.owner;
DELETE FROM loads WHERE owner = NEW.owner;
DELETE FROM answers WHERE owner = NEW.owner;
DELETE FROM vector_spaces WHERE owner = NEW.owner;
DELETE FROM vectors WHERE owner = NEW.owner;
DELETE FROM due WHERE owner = NEW.owner;
DELETE FROM meter WHERE owner = NEW.owner;
DELETE FROM choices WHERE owner = NEW.owner;
DELETE FROM proposals WHERE owner = NEW.owner;
DELETE FROM notes WHERE owner = NEW.owner;
DELETE FROM turn_terms WHERE owner = NEW.owner;
DELETE FROM threads WHERE owner = NEW.owner;
DELETE FROM labels WHERE owner = NEW.owner;
DELETE FROM likeness WHERE owner = NEW.owner;
DELETE FROM terms WHERE owner = NEW.owner;
DELETE FROM block_rules WHERE owner = NEW.owner;
DELETE FROM memories WHERE owner = NEW.owner;
DELETE FROM ledger WHERE owner = NEW.owner;
  DELETE FROM erasures WHERE owner = NEW.owner AND memory_id <> '*';
  DELETE FROM erasures WHERE owner = NEW.owner;
  DELETE FROM touched WHERE owner = NEW.owner;
END;

-- Chats: what was said is kept as it was said, until the whole chat goes.
CREATE TRIGGER messages_follow_each_other BEFORE INSERT ON messages
WHEN NEW.turn <> 1 + coalesce((SELECT max(turn) FROM messages WHERE owner = NEW.owner AND thread_id = NEW.thread_id), 0)
BEGIN SELECT RAISE(ABORT, 'guard: the turns of a chat are numbered without gaps'); END;

-- Loads: what a file brought is taken back once, and never rewritten.
CREATE TRIGGER loads_are_taken_back_once BEFORE UPDATE ON loads
WHEN NOT (
  OLD.undone_at IS NULL AND NEW.owner = OLD.owner
  AND NEW.nth = OLD.nth AND NEW.at = OLD.at AND NEW.actor = OLD.actor AND NEW.what = OLD.what
  AND NEW.title = OLD.title AND NEW.deployment_id IS OLD.deployment_id AND NEW.trades = OLD.trades
  AND NEW.fills = OLD.fills AND NEW.before = OLD.before
  AND (
    (NEW.undone_at IS NOT NULL AND NEW.gone IS NOT NULL AND NEW.brought = OLD.brought AND NEW.told = OLD.told)
    OR (NEW.undone_at IS NULL AND NEW.gone IS NULL AND OLD.told LIKE '%"under_way": true%')
  )
)
BEGIN SELECT RAISE(ABORT, 'guard: a load that is whole is taken back, never rewritten'); END;

-- What follows from how each table is declared.
CREATE TRIGGER ledger_never_vanish BEFORE DELETE ON ledger
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from ledger but by an erasure'); END;
CREATE TRIGGER memories_never_vanish BEFORE DELETE ON memories
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from memories but by an erasure'); END;
CREATE TRIGGER versions_never_vanish BEFORE DELETE ON versions
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from versions but by an erasure'); END;
CREATE TRIGGER block_rules_are_not_replaced BEFORE INSERT ON block_rules
WHEN EXISTS (SELECT 1 FROM block_rules WHERE "owner" = NEW."owner" AND "digest" = NEW."digest")
BEGIN SELECT RAISE(ABORT, 'guard: a row of block_rules is never replaced'); END;
CREATE TRIGGER block_rules_never_change BEFORE UPDATE ON block_rules
BEGIN SELECT RAISE(ABORT, 'guard: a row of block_rules is never rewritten'); END;
CREATE TRIGGER block_rules_never_vanish BEFORE DELETE ON block_rules
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from block_rules but by an erasure'); END;
CREATE TRIGGER injections_never_vanish BEFORE DELETE ON injections
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from injections but by an erasure'); END;
CREATE TRIGGER injected_never_change BEFORE UPDATE ON injected
BEGIN SELECT RAISE(ABORT, 'guard: a row of injected is never rewritten'); END;
CREATE TRIGGER injected_never_vanish BEFORE DELETE ON injected
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from injected but by an erasure'); END;
CREATE TRIGGER erasures_never_vanish BEFORE DELETE ON erasures
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from erasures but by an erasure'); END;
CREATE TRIGGER terms_never_change BEFORE UPDATE ON terms
BEGIN SELECT RAISE(ABORT, 'guard: a row of terms is never rewritten'); END;
CREATE TRIGGER likeness_never_change BEFORE UPDATE ON likeness
BEGIN SELECT RAISE(ABORT, 'guard: a row of likeness is never rewritten'); END;
CREATE TRIGGER labels_never_change BEFORE UPDATE ON labels
BEGIN SELECT RAISE(ABORT, 'guard: a row of labels is never rewritten'); END;
CREATE TRIGGER messages_never_change BEFORE UPDATE ON messages
BEGIN SELECT RAISE(ABORT, 'guard: a row of messages is never rewritten'); END;
CREATE TRIGGER turn_terms_never_change BEFORE UPDATE ON turn_terms
BEGIN SELECT RAISE(ABORT, 'guard: a row of turn_terms is never rewritten'); END;
CREATE TRIGGER vectors_never_change BEFORE UPDATE ON vectors
BEGIN SELECT RAISE(ABORT, 'guard: a row of vectors is never rewritten'); END;
CREATE TRIGGER identities_never_change BEFORE UPDATE ON identities
WHEN NOT (NEW."id" IS OLD."id" AND NEW."owner" IS OLD."owner" AND NEW."invitation" IS OLD."invitation" AND NEW."created_at" IS OLD."created_at" AND NEW."expires_at" IS OLD."expires_at")
BEGIN SELECT RAISE(ABORT, 'guard: a row of identities is never rewritten'); END;
CREATE TRIGGER answers_never_change BEFORE UPDATE ON answers
BEGIN SELECT RAISE(ABORT, 'guard: a row of answers is never rewritten'); END;
CREATE TRIGGER loads_are_not_replaced BEFORE INSERT ON loads
WHEN EXISTS (SELECT 1 FROM loads WHERE "owner" = NEW."owner" AND "nth" = NEW."nth")
BEGIN SELECT RAISE(ABORT, 'guard: a row of loads is never replaced'); END;
CREATE TRIGGER loads_never_vanish BEFORE DELETE ON loads
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from loads but by an erasure'); END;
CREATE TRIGGER agents_are_not_replaced BEFORE INSERT ON agents
WHEN EXISTS (SELECT 1 FROM agents WHERE "owner" = NEW."owner" AND "id" = NEW."id")
BEGIN SELECT RAISE(ABORT, 'guard: a row of agents is never replaced'); END;
CREATE TRIGGER agents_never_vanish BEFORE DELETE ON agents
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from agents but by an erasure'); END;
CREATE TRIGGER runs_never_vanish BEFORE DELETE ON runs
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from runs but by an erasure'); END;
CREATE TRIGGER transcripts_never_change BEFORE UPDATE ON transcripts
BEGIN SELECT RAISE(ABORT, 'guard: a row of transcripts is never rewritten'); END;
CREATE TRIGGER transcripts_never_vanish BEFORE DELETE ON transcripts
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from transcripts but by an erasure'); END;
CREATE TRIGGER decisions_never_vanish BEFORE DELETE ON decisions
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from decisions but by an erasure'); END;
CREATE TRIGGER former_results_never_change BEFORE UPDATE ON former_results
BEGIN SELECT RAISE(ABORT, 'guard: a row of former_results is never rewritten'); END;
CREATE TRIGGER former_results_never_vanish BEFORE DELETE ON former_results
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from former_results but by an erasure'); END;
CREATE TRIGGER batches_never_change BEFORE UPDATE ON batches
WHEN NOT (NEW."nth" IS OLD."nth" AND NEW."source" IS OLD."source" AND NEW."link" IS OLD."link" AND NEW."what" IS OLD."what" AND NEW."at" IS OLD."at" AND NEW."came" IS OLD."came" AND NEW."went" IS OLD."went" AND NEW."spans" IS OLD."spans" AND NEW."digest" IS OLD."digest" AND NEW."previous" IS OLD."previous" AND NEW."hash" IS OLD."hash")
BEGIN SELECT RAISE(ABORT, 'guard: a row of batches is never rewritten'); END;
CREATE TRIGGER former_bars_never_change BEFORE UPDATE ON former_bars
BEGIN SELECT RAISE(ABORT, 'guard: a row of former_bars is never rewritten'); END;
CREATE TRIGGER former_events_never_change BEFORE UPDATE ON former_events
BEGIN SELECT RAISE(ABORT, 'guard: a row of former_events is never rewritten'); END;
CREATE TRIGGER event_symbols_never_change BEFORE UPDATE ON event_symbols
BEGIN SELECT RAISE(ABORT, 'guard: a row of event_symbols is never rewritten'); END;
CREATE TRIGGER skills_are_not_replaced BEFORE INSERT ON skills
WHEN EXISTS (SELECT 1 FROM skills WHERE "owner" = NEW."owner" AND "id" = NEW."id")
BEGIN SELECT RAISE(ABORT, 'guard: a row of skills is never replaced'); END;
CREATE TRIGGER skills_never_vanish BEFORE DELETE ON skills
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from skills but by an erasure'); END;
CREATE TRIGGER skill_fields_never_change BEFORE UPDATE ON skill_fields
BEGIN SELECT RAISE(ABORT, 'guard: a row of skill_fields is never rewritten'); END;
CREATE TRIGGER skill_fields_never_vanish BEFORE DELETE ON skill_fields
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from skill_fields but by an erasure'); END;
CREATE TRIGGER deployments_are_not_replaced BEFORE INSERT ON deployments
WHEN EXISTS (SELECT 1 FROM deployments WHERE "owner" = NEW."owner" AND "id" = NEW."id")
BEGIN SELECT RAISE(ABORT, 'guard: a row of deployments is never replaced'); END;
CREATE TRIGGER deployments_never_vanish BEFORE DELETE ON deployments
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from deployments but by an erasure'); END;
CREATE TRIGGER positions_never_vanish BEFORE DELETE ON positions
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from positions but by an erasure'); END;
CREATE TRIGGER former_trades_never_change BEFORE UPDATE ON former_trades
BEGIN SELECT RAISE(ABORT, 'guard: a row of former_trades is never rewritten'); END;
CREATE TRIGGER former_trades_never_vanish BEFORE DELETE ON former_trades
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from former_trades but by an erasure'); END;
CREATE TRIGGER fills_never_change BEFORE UPDATE ON fills
WHEN NOT (NEW."owner" IS OLD."owner" AND NEW."deployment_id" IS OLD."deployment_id" AND NEW."key" IS OLD."key" AND NEW."symbol" IS OLD."symbol" AND NEW."side" IS OLD."side" AND NEW."time" IS OLD."time" AND NEW."quantity" IS OLD."quantity" AND NEW."price" IS OLD."price" AND NEW."multiplier" IS OLD."multiplier" AND NEW."reason" IS OLD."reason" AND NEW."load" IS OLD."load")
BEGIN SELECT RAISE(ABORT, 'guard: a row of fills is never rewritten'); END;
CREATE TRIGGER splits_never_change BEFORE UPDATE ON splits
BEGIN SELECT RAISE(ABORT, 'guard: a row of splits is never rewritten'); END;
CREATE TRIGGER mappings_never_change BEFORE UPDATE ON mappings
BEGIN SELECT RAISE(ABORT, 'guard: a row of mappings is never rewritten'); END;
CREATE TRIGGER lessons_never_change BEFORE UPDATE ON lessons
WHEN NOT (NEW."owner" IS OLD."owner" AND NEW."memory_id" IS OLD."memory_id" AND NEW."version" IS OLD."version" AND NEW."finding" IS OLD."finding" AND NEW."skill_id" IS OLD."skill_id" AND NEW."deployment_id" IS OLD."deployment_id" AND NEW."known_at" IS OLD."known_at" AND NEW."window_from" IS OLD."window_from" AND NEW."window_until" IS OLD."window_until" AND NEW."trades" IS OLD."trades" AND NEW."wins" IS OLD."wins" AND NEW."mean" IS OLD."mean" AND NEW."median" IS OLD."median" AND NEW."low" IS OLD."low" AND NEW."high" IS OLD."high" AND NEW."p" IS OLD."p" AND NEW."tried" IS OLD."tried")
BEGIN SELECT RAISE(ABORT, 'guard: a row of lessons is never rewritten'); END;
CREATE TRIGGER lessons_never_vanish BEFORE DELETE ON lessons
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id IN ('*', OLD.memory_id))
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from lessons but by an erasure'); END;
CREATE TRIGGER covers_never_vanish BEFORE DELETE ON covers
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from covers but by an erasure'); END;
CREATE TRIGGER seals_never_vanish BEFORE DELETE ON seals
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from seals but by an erasure'); END;
CREATE TRIGGER mends_never_change BEFORE UPDATE ON mends
BEGIN SELECT RAISE(ABORT, 'guard: a row of mends is never rewritten'); END;
CREATE TRIGGER mends_never_vanish BEFORE DELETE ON mends
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from mends but by an erasure'); END;
CREATE TRIGGER touched_never_change BEFORE UPDATE ON touched
BEGIN SELECT RAISE(ABORT, 'guard: a row of touched is never rewritten'); END;

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
  AND NEW.created_at = OLD.created_at AND NEW.made_at IS OLD.made_at AND NEW.key IS OLD.key AND NEW.link IS OLD.link
  AND NEW.prompt_version IS OLD.prompt_version
  AND NOT (NEW.step IS NOT NULL AND EXISTS (
    SELECT 1 FROM runs WHERE owner = NEW.owner AND agent_id = NEW.agent_id AND step = NEW.step AND id <> NEW.id))
)
BEGIN SELECT RAISE(ABORT, 'guard: the result of a run is never changed'); END;

CREATE TRIGGER transcripts_append BEFORE INSERT ON transcripts
WHEN NEW.turn <> 1 + coalesce((SELECT max(turn) FROM transcripts WHERE owner = NEW.owner AND run_id = NEW.run_id), 0)
  OR NOT EXISTS (SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.run_id AND status IN ('queued', 'running'))
BEGIN SELECT RAISE(ABORT, 'guard: a transcript grows turn by turn, while its run lasts'); END;

CREATE TRIGGER decisions_begin BEFORE INSERT ON decisions
WHEN EXISTS (SELECT 1 FROM decisions WHERE owner = NEW.owner AND run_id = NEW.run_id)
  OR NEW.state <> 'open'
  OR NOT EXISTS (SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.run_id AND agent_id = NEW.agent_id
                   AND card IS NOT NULL AND card_type = NEW.card_type AND nature <> 're-examination')
BEGIN SELECT RAISE(ABORT, 'guard: a decision begins open, with the card of a run'); END;

-- What the bars closed they may close otherwise, or open again, once what it said is kept as a former result; and whether
-- a forecast came true the person may answer anew; else closed is closed.
CREATE TRIGGER decisions_close_once BEFORE UPDATE ON decisions
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.run_id = OLD.run_id AND NEW.agent_id = OLD.agent_id AND NEW.card_type = OLD.card_type
  AND NEW.decided_at = OLD.decided_at AND NEW.action IS OLD.action AND NEW.symbol IS OLD.symbol
  AND NEW.entry IS OLD.entry AND NEW.stop IS OLD.stop AND NEW.target IS OLD.target
  AND NEW.conviction IS OLD.conviction AND NEW.expires IS OLD.expires AND NEW.regime IS OLD.regime
  AND NEW.probability IS OLD.probability AND NEW.claim IS OLD.claim AND NEW.recorded_at IS OLD.recorded_at
  AND (
    OLD.state = 'open'
    OR (OLD.closed_by = 'bars' AND (NEW.closed_by IS 'bars' OR NEW.state = 'open') AND EXISTS (
          SELECT 1 FROM former_results f WHERE f.owner = OLD.owner AND f.run_id = OLD.run_id
            AND f.known_at IS OLD.known_at AND f.outcome IS OLD.outcome))
    OR (OLD.outcome IN ('true', 'false', 'void') AND NEW.outcome IN ('true', 'false', 'void') AND NEW.closed_by = 'person')
  )
)
BEGIN SELECT RAISE(ABORT, 'guard: a decision keeps what it said, and is closed once'); END;

CREATE TRIGGER former_results_append BEFORE INSERT ON former_results
WHEN NEW.nth <> 1 + coalesce((SELECT max(nth) FROM former_results WHERE owner = NEW.owner AND run_id = NEW.run_id), 0)
  OR NOT EXISTS (
    SELECT 1 FROM decisions d WHERE d.owner = NEW.owner AND d.run_id = NEW.run_id AND d.known_at IS NEW.known_at
      AND d.state = NEW.state AND d.outcome IS NEW.outcome AND d.closed_at IS NEW.closed_at
      AND d.exit_price IS NEW.exit_price AND d.result_r IS NEW.result_r AND d.state <> 'open')
BEGIN SELECT RAISE(ABORT, 'guard: a former result is what its decision said'); END;

-- What was brought in goes with its load, and an answer with the load that brought it.
CREATE TRIGGER brought_forecasts_never_vanish BEFORE DELETE ON brought_forecasts
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
  AND NOT EXISTS (SELECT 1 FROM loads WHERE owner = OLD.owner AND nth = OLD.load AND undone_at IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'guard: a forecast that was brought in goes with its load, or by an erasure'); END;

CREATE TRIGGER brought_forecasts_are_answered_once BEFORE UPDATE ON brought_forecasts
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.agent_id = OLD.agent_id AND NEW.key = OLD.key AND NEW.load = OLD.load
  AND NEW.recorded_at = OLD.recorded_at AND NEW.card_type = OLD.card_type AND NEW.card = OLD.card
  AND NEW.probability = OLD.probability AND NEW.claim IS OLD.claim AND NEW.made_at = OLD.made_at
  AND NEW.expires = OLD.expires AND NEW.model IS OLD.model AND NEW.prompt_version IS OLD.prompt_version
  AND NEW.link IS OLD.link
  AND (OLD.outcome IS NULL OR (NEW.outcome IS NULL AND EXISTS (
    SELECT 1 FROM loads WHERE owner = OLD.owner AND nth = OLD.answer_load AND undone_at IS NOT NULL)))
)
BEGIN SELECT RAISE(ABORT, 'guard: a forecast that was brought in is answered once'); END;

-- Trading: what a skill said stays as it was said, version by version; what was traded and learnt goes only with the book.
CREATE TRIGGER skill_fields_follow_each_other BEFORE INSERT ON skill_fields
WHEN NEW.version <> 1 + coalesce((SELECT max(version) FROM skill_fields WHERE owner = NEW.owner AND skill_id = NEW.skill_id
                                    AND field = NEW.field), 0)
  OR NOT EXISTS (SELECT 1 FROM skills WHERE owner = NEW.owner AND id = NEW.skill_id)
BEGIN SELECT RAISE(ABORT, 'guard: the versions of a field are numbered without gaps'); END;

CREATE TRIGGER lessons_are_not_replaced BEFORE INSERT ON lessons
WHEN EXISTS (SELECT 1 FROM lessons WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND version = NEW.version)
  OR NOT EXISTS (SELECT 1 FROM versions WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND version = NEW.version)
BEGIN SELECT RAISE(ABORT, 'guard: the figures of a lesson are never rewritten'); END;

CREATE TRIGGER fills_never_vanish BEFORE DELETE ON fills
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
  AND NOT EXISTS (SELECT 1 FROM loads WHERE owner = OLD.owner AND nth = OLD.load AND undone_at IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'guard: a fill goes with its load, or by an erasure'); END;

CREATE TRIGGER trades_never_vanish BEFORE DELETE ON trades
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
  AND NOT EXISTS (SELECT 1 FROM former_trades WHERE owner = OLD.owner AND deployment_id = OLD.deployment_id
                    AND exit_time = OLD.exit_time AND key = OLD.key AND batch = OLD.batch)
BEGIN SELECT RAISE(ABORT, 'guard: a trade goes once it is kept as former, or by an erasure'); END;

CREATE TRIGGER loads_are_of_a_deployment BEFORE INSERT ON loads
WHEN NEW.deployment_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM deployments WHERE owner = NEW.owner AND id = NEW.deployment_id)
BEGIN SELECT RAISE(ABORT, 'guard: a load of trades has a deployment'); END;

-- What is installed.
INSERT INTO extensions (name, nth, version, tables)
VALUES ('agents', 1, 1, '[{"name":"armed","columns":{"owner":"text","agent_id":"text","at":"text"},"key":["owner","agent_id"],"rules":{"unexported":"a mark of this installation","uncovered":"a mark of this installation","may_go":true}},{"name":"agents","columns":{"owner":"text","id":"text","name":"text","instructions":"text","default_prompt":"text","model":"text","adapter":"text","card_type":"text","schedule":"text","team":"text","use_block":"integer","memory_enabled":"integer","review_decisions":"integer","second_looks":"integer","run_seconds":"integer","run_tool_calls":"integer","run_tokens":"integer","thread_id":"text","created_at":"text","updated_at":"text","deleted_at":"text","session":"text","session_at":"text","fresh_at":"text","epoch":"integer","step":"integer","compressed":"text","compressed_through":"integer","turn_until":"text","turn_by":"text"},"key":["owner","id"],"rules":{"exported":"agent","ids":["id","thread_id"],"covered":true,"passing":["turn_until","turn_by"],"blanked":["compressed"],"blanked_where":"id IN (\n  SELECT r.agent_id FROM runs r JOIN injected i ON i.owner = r.owner AND i.session = r.id AND i.space = ''chat''\n  WHERE r.owner = NEW.owner AND i.memory_id = NEW.memory_id)"}},{"name":"runs","columns":{"owner":"text","id":"text","agent_id":"text","nature":"text","status":"text","prompt":"text","adapter":"text","model":"text","card_type":"text","card":"text","error":"text","error_code":"text","parent_run":"text","lead_run":"text","specialist":"text","thread_id":"text","session_before":"text","session_after":"text","epoch":"integer","step":"integer","tokens_in":"integer","tokens_out":"integer","created_at":"text","started_at":"text","finished_at":"text","made_at":"text","key":"text","link":"text","prompt_version":"text","retry_of":"text"},"key":["owner","id"],"rules":{"exported":"run","ids":["id","agent_id","parent_run","lead_run","thread_id","retry_of"],"covered":true,"may_change":["status","adapter","model","card","error","error_code","session_before","session_after","epoch","step","tokens_in","tokens_out","started_at","finished_at"],"begins":["status=running","card","error","error_code","session_after","epoch","step","finished_at"],"own":["insert","update"]}},{"name":"transcripts","columns":{"owner":"text","run_id":"text","turn":"integer","role":"text","text":"text","parts":"text","at":"text","tokens":"integer"},"key":["owner","run_id","turn"],"rules":{"exported":"line","ids":["run_id"],"covered":true,"may_change":[],"during":["runs","run_id"],"own":["insert"]}},{"name":"decisions","columns":{"owner":"text","run_id":"text","agent_id":"text","card_type":"text","decided_at":"text","action":"text","symbol":"text","entry":"number","stop":"number","target":"number","conviction":"number","expires":"text","regime":"text","probability":"number","claim":"text","event":"text","recorded_at":"text","state":"text","filled_at":"text","fill_price":"number","through":"text","last_close":"number","closed_at":"text","closed_by":"text","outcome":"text","exit_price":"number","result_r":"number","result_pct":"number","note":"text","came_to":"text","resolver":"text","settled_early":"text","gap":"text","known_at":"text"},"key":["owner","run_id"],"rules":{"exported":"decision","ids":["run_id","agent_id"],"covered":true,"may_change":["state","filled_at","fill_price","through","last_close","closed_at","closed_by","outcome","exit_price","result_r","result_pct","note","came_to","resolver","settled_early","gap","known_at"],"begins":["state=open","filled_at","fill_price","through","last_close","closed_at","closed_by","outcome","exit_price","result_r","result_pct","note","came_to","resolver","settled_early","gap","known_at"],"own":["insert","update"]}},{"name":"former_results","columns":{"owner":"text","run_id":"text","nth":"integer","known_at":"text","until":"text","state":"text","filled_at":"text","fill_price":"number","through":"text","last_close":"number","closed_at":"text","closed_by":"text","outcome":"text","exit_price":"number","result_r":"number","result_pct":"number","note":"text","came_to":"text","resolver":"text","settled_early":"text","gap":"text"},"key":["owner","run_id","nth"],"rules":{"exported":"former_result","ids":["run_id"],"covered":true,"may_change":[],"earlier_of":["decisions","run_id"],"own":["insert"]}},{"name":"brought_forecasts","columns":{"owner":"text","agent_id":"text","key":"text","load":"integer","recorded_at":"text","card_type":"text","card":"text","probability":"number","claim":"text","made_at":"text","expires":"text","model":"text","prompt_version":"text","link":"text","outcome":"text","came_to":"text","closed_at":"text","answered_at":"text","answer_load":"integer"},"key":["owner","agent_id","key"],"rules":{"exported":"brought_forecast","ids":["agent_id"],"covered":true,"may_change":["outcome","came_to","closed_at","answered_at","answer_load"],"may_go":true,"own":["delete","update"]}}]')
ON CONFLICT (name) DO UPDATE SET version = excluded.version, tables = excluded.tables;
INSERT INTO extensions (name, nth, version, tables)
VALUES ('trading', 2, 1, '[{"name":"batches","columns":{"nth":"integer","source":"text","link":"integer","what":"text","at":"text","came":"integer","went":"integer","spans":"text","digest":"text","previous":"text","hash":"text","settled":"integer"},"key":["nth"],"rules":{"may_change":["settled"]}},{"name":"bars","columns":{"symbol":"text","timeframe":"text","time":"text","open":"number","high":"number","low":"number","close":"number","volume":"number","batch":"integer"},"key":["symbol","timeframe","time"],"rules":{"may_go":true}},{"name":"former_bars","columns":{"symbol":"text","timeframe":"text","time":"text","open":"number","high":"number","low":"number","close":"number","volume":"number","batch":"integer","went":"integer","until":"text"},"key":["symbol","timeframe","time","went"],"rules":{"may_change":[]}},{"name":"market_events","columns":{"id":"text","kind":"text","time":"text","importance":"number","title":"text","symbols":"text","known_at":"text","batch":"integer"},"key":["id"],"rules":{}},{"name":"former_events","columns":{"id":"text","kind":"text","time":"text","importance":"number","title":"text","symbols":"text","known_at":"text","batch":"integer","went":"integer","until":"text"},"key":["id","went"],"rules":{"may_change":[]}},{"name":"event_symbols","columns":{"symbol":"text","kind":"text","time":"text","event_id":"text"},"key":["symbol","kind","time","event_id"],"rules":{"may_change":[],"may_go":true}},{"name":"skills","columns":{"owner":"text","id":"text","name":"text","description":"text","created_at":"text","ended_at":"text"},"key":["owner","id"],"rules":{"exported":"skill","ids":["id"],"covered":true}},{"name":"skill_fields","columns":{"owner":"text","skill_id":"text","field":"text","version":"integer","value":"text","recorded_at":"text","actor":"text","thread_id":"text"},"key":["owner","skill_id","field","version"],"rules":{"exported":"field","covered":true,"may_change":[],"own":["insert"]}},{"name":"deployments","columns":{"owner":"text","id":"text","skill_id":"text","name":"text","account":"text","capital":"number","currency":"text","started_at":"text","ended_at":"text","created_at":"text","removed_at":"text"},"key":["owner","id"],"rules":{"exported":"deployment","ids":["id","skill_id"],"covered":true}},{"name":"positions","columns":{"owner":"text","deployment_id":"text","symbol":"text","side":"text","entry_time":"text","known_at":"text","entry_price":"number","quantity":"number","closed_at":"text"},"key":["owner","deployment_id","symbol","side","entry_time","known_at"],"rules":{"exported":"position","covered":true,"bulk":true}},{"name":"trades","columns":{"owner":"text","deployment_id":"text","exit_time":"text","key":"text","symbol":"text","side":"text","quantity":"number","entry_time":"text","entry_price":"number","exit_price":"number","fees":"number","pnl":"number","mfe":"number","mae":"number","entry_regime_tag":"text","entry_reason":"text","exit_reason":"text","known_at":"text","batch":"integer"},"key":["owner","deployment_id","exit_time","key"],"rules":{"exported":"trade","uncovered":"sealed batch by batch","may_go":true,"bulk":true,"own":["delete"]}},{"name":"former_trades","columns":{"owner":"text","deployment_id":"text","exit_time":"text","key":"text","symbol":"text","side":"text","quantity":"number","entry_time":"text","entry_price":"number","exit_price":"number","fees":"number","pnl":"number","mfe":"number","mae":"number","entry_regime_tag":"text","entry_reason":"text","exit_reason":"text","known_at":"text","batch":"integer","went":"integer","until":"text"},"key":["owner","deployment_id","exit_time","key","went"],"rules":{"exported":"former_trade","uncovered":"sealed batch by batch","may_change":[],"bulk":true,"former_of":"trades"}},{"name":"trade_days","columns":{"owner":"text","deployment_id":"text","day":"text","trades":"integer","last":"text","known_at":"text","figures":"text","parts":"text"},"key":["owner","deployment_id","day"],"rules":{"unexported":"made anew on import","uncovered":"made anew from what is covered","may_go":true}},{"name":"fills","columns":{"owner":"text","deployment_id":"text","key":"text","symbol":"text","side":"text","time":"text","quantity":"number","price":"number","fee":"number","multiplier":"number","remaining":"text","reason":"text","load":"integer"},"key":["owner","deployment_id","key"],"rules":{"exported":"fill","covered":true,"may_change":["remaining","fee"],"may_go":true,"bulk":true,"own":["delete"]}},{"name":"splits","columns":{"owner":"text","symbol":"text","time":"text","ratio":"text","load":"integer"},"key":["owner","symbol","time"],"rules":{"exported":"split","covered":true,"may_change":[],"may_go":true}},{"name":"mappings","columns":{"owner":"text","name":"text","columns":"text"},"key":["owner","name"],"rules":{"exported":"mapping","covered":true,"may_change":[],"may_go":true}},{"name":"lessons","columns":{"owner":"text","memory_id":"text","version":"integer","finding":"text","skill_id":"text","deployment_id":"text","known_at":"text","window_from":"text","window_until":"text","trades":"integer","wins":"integer","mean":"number","median":"number","low":"number","high":"number","p":"number","tried":"integer","withdrawn_at":"text"},"key":["owner","memory_id","version"],"rules":{"exported":"lesson","covered":true,"may_change":["withdrawn_at"],"of_memory":"memory_id","guards_memory":"lesson","own":["insert"]}}]')
ON CONFLICT (name) DO UPDATE SET version = excluded.version, tables = excluded.tables;
