CREATE TABLE owners (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	created_at TEXT COLLATE "C" NOT NULL,
	preset TEXT COLLATE "C",
	zone TEXT COLLATE "C" DEFAULT 'UTC' NOT NULL,
	PRIMARY KEY (owner)
);

CREATE TABLE ledger (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	seq INTEGER NOT NULL,
	link INTEGER NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	actor TEXT COLLATE "C" NOT NULL CHECK (actor IN ('person', 'agent', 'extractor', 'job')),
	door TEXT COLLATE "C" NOT NULL,
	thread_id TEXT COLLATE "C",
	action TEXT COLLATE "C" NOT NULL,
	memory_id TEXT COLLATE "C",
	other_id TEXT COLLATE "C",
	link_id TEXT COLLATE "C",
	undoes INTEGER,
	before TEXT COLLATE "C",
	after TEXT COLLATE "C",
	salt TEXT COLLATE "C",
	digest TEXT COLLATE "C" NOT NULL,
	previous TEXT COLLATE "C" NOT NULL,
	hash TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, seq)
);

CREATE INDEX ledger_by_memory ON ledger (owner, memory_id, seq);

CREATE TABLE memories (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	category TEXT COLLATE "C",
	subject TEXT COLLATE "C" CHECK (length(subject) <= 200),
	subject_key TEXT COLLATE "C",
	scope TEXT COLLATE "C",
	confidence TEXT COLLATE "C" NOT NULL CHECK (confidence IN ('asserted', 'inferred')),
	importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
	version INTEGER NOT NULL,
	created_at TEXT COLLATE "C" NOT NULL,
	edited_at TEXT COLLATE "C" NOT NULL,
	updated_at TEXT COLLATE "C" NOT NULL,
	last_confirmed_at TEXT COLLATE "C",
	archived_at TEXT COLLATE "C",
	archived_reason TEXT COLLATE "C",
	trashed_at TEXT COLLATE "C",
	purged_at TEXT COLLATE "C",
	event INTEGER NOT NULL,
	PRIMARY KEY (owner, id),
	CONSTRAINT archived_with_a_reason CHECK ((archived_at IS NULL) = (archived_reason IS NULL))
);

CREATE INDEX memories_by_category ON memories (owner, category, created_at, id);

CREATE INDEX memories_by_creation ON memories (owner, created_at, id);

CREATE INDEX memories_by_importance ON memories (owner, importance, updated_at, id) WHERE archived_at IS NULL AND trashed_at IS NULL AND purged_at IS NULL;

CREATE INDEX memories_by_subject ON memories (owner, subject_key, created_at, id) WHERE subject_key IS NOT NULL;

CREATE TABLE block_rules (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	digest TEXT COLLATE "C" NOT NULL CHECK (length(digest) = 64),
	rules TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, digest)
);

CREATE TABLE erasures (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	memory_id TEXT COLLATE "C" NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	event INTEGER NOT NULL,
	PRIMARY KEY (owner, memory_id)
);

CREATE TABLE terms (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	term TEXT COLLATE "C" NOT NULL,
	memory_id TEXT COLLATE "C" NOT NULL,
	weight DOUBLE PRECISION NOT NULL,
	PRIMARY KEY (owner, term, memory_id)
);

CREATE TABLE likeness (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	key TEXT COLLATE "C" NOT NULL,
	memory_id TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, key, memory_id)
);

CREATE TABLE labels (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	key TEXT COLLATE "C" NOT NULL,
	memory_id TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, key, memory_id)
);

CREATE TABLE threads (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	session TEXT COLLATE "C",
	agent TEXT COLLATE "C",
	preset TEXT COLLATE "C" NOT NULL,
	title TEXT COLLATE "C",
	titled_by TEXT COLLATE "C" CHECK (titled_by IN ('person', 'model', 'rules')),
	state TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'idle', 'archived', 'going')),
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
	out_of_view TEXT COLLATE "C",
	begun_by TEXT COLLATE "C",
	PRIMARY KEY (owner, id),
	CONSTRAINT watermark_within_the_chat CHECK (extracted_through BETWEEN 0 AND turns)
);

CREATE UNIQUE INDEX threads_by_session ON threads (owner, session) WHERE session IS NOT NULL;

CREATE INDEX threads_by_touch ON threads (owner, touched_at, id);

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
	op TEXT COLLATE "C" NOT NULL CHECK (op IN ('add', 'update', 'end', 'forget', 'confirm')),
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
	question TEXT COLLATE "C" CHECK (question IN ('keep', 'over', 'change', 'which')),
	choices TEXT COLLATE "C",
	valid_until TEXT COLLATE "C",
	quoted INTEGER DEFAULT '0' NOT NULL CHECK (quoted IN (0, 1)),
	spans TEXT COLLATE "C",
	said_on TEXT COLLATE "C",
	asked_by TEXT COLLATE "C",
	PRIMARY KEY (owner, id),
	CONSTRAINT a_question_has_choices CHECK ((question IS NULL) = (choices IS NULL)),
	CONSTRAINT a_quotation_offers_its_words CHECK ((spans IS NOT NULL) = (quoted = 1))
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
	agent TEXT COLLATE "C",
	made_with TEXT COLLATE "C",
	PRIMARY KEY (id),
	CONSTRAINT opens_one_book CHECK (owner IS NOT NULL OR kind = 'service' OR revoked_at IS NOT NULL),
	UNIQUE (hash)
);

CREATE INDEX tokens_by_maker ON tokens (made_with);

CREATE INDEX tokens_by_owner ON tokens (owner, created_at);

CREATE TABLE identities (
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	invitation TEXT COLLATE "C",
	issuer TEXT COLLATE "C",
	subject TEXT COLLATE "C",
	created_at TEXT COLLATE "C" NOT NULL,
	expires_at TEXT COLLATE "C",
	joined_at TEXT COLLATE "C",
	ended_at TEXT COLLATE "C",
	PRIMARY KEY (id),
	CONSTRAINT joined CHECK ((joined_at IS NULL) = (issuer IS NULL) AND (issuer IS NULL) = (subject IS NULL)),
	UNIQUE (invitation)
);

CREATE INDEX identities_by_owner ON identities (owner);

CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject) WHERE ended_at IS NULL;

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

CREATE TABLE loads (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	nth INTEGER NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	actor TEXT COLLATE "C" NOT NULL,
	what TEXT COLLATE "C" NOT NULL CHECK (what <> ''),
	title TEXT COLLATE "C" NOT NULL,
	deployment_id TEXT COLLATE "C",
	trades INTEGER NOT NULL,
	fills INTEGER NOT NULL,
	brought TEXT COLLATE "C" NOT NULL,
	before TEXT COLLATE "C" NOT NULL,
	told TEXT COLLATE "C" NOT NULL,
	undone_at TEXT COLLATE "C",
	gone TEXT COLLATE "C",
	PRIMARY KEY (owner, nth),
	CONSTRAINT memories_have_no_deployment CHECK (what = 'trades' OR deployment_id IS NULL)
);

CREATE TABLE extensions (
	name TEXT COLLATE "C" NOT NULL,
	nth INTEGER NOT NULL,
	version INTEGER NOT NULL,
	tables TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (name)
);

CREATE TABLE armed (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	agent_id TEXT COLLATE "C" NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, agent_id)
);

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
	second_looks INTEGER DEFAULT '0' NOT NULL CHECK (second_looks IN (0, 1)),
	run_seconds INTEGER CHECK (run_seconds > 0),
	run_tool_calls INTEGER CHECK (run_tool_calls > 0),
	run_tokens INTEGER CHECK (run_tokens > 0),
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

CREATE TABLE batches (
	nth SERIAL NOT NULL,
	source TEXT COLLATE "C" NOT NULL CHECK (source <> ''),
	link INTEGER NOT NULL,
	what TEXT COLLATE "C" NOT NULL CHECK (what IN ('bars', 'events')),
	at TEXT COLLATE "C" NOT NULL,
	came INTEGER NOT NULL,
	went INTEGER NOT NULL,
	spans TEXT COLLATE "C" NOT NULL,
	digest TEXT COLLATE "C" NOT NULL,
	previous TEXT COLLATE "C" NOT NULL,
	hash TEXT COLLATE "C" NOT NULL,
	settled INTEGER NOT NULL CHECK (settled IN (0, 1)),
	PRIMARY KEY (nth)
);

CREATE UNIQUE INDEX batches_by_source ON batches (source, link);

CREATE INDEX batches_to_settle ON batches (nth) WHERE settled = 0;

CREATE TABLE bars (
	symbol TEXT COLLATE "C" NOT NULL CHECK (symbol <> ''),
	timeframe TEXT COLLATE "C" NOT NULL,
	time TEXT COLLATE "C" NOT NULL,
	open DOUBLE PRECISION NOT NULL,
	high DOUBLE PRECISION NOT NULL,
	low DOUBLE PRECISION NOT NULL,
	close DOUBLE PRECISION NOT NULL,
	volume DOUBLE PRECISION,
	batch INTEGER NOT NULL,
	PRIMARY KEY (symbol, timeframe, time),
	CONSTRAINT within_its_range CHECK (low <= open AND low <= close AND high >= open AND high >= close)
);

CREATE TABLE former_bars (
	symbol TEXT COLLATE "C" NOT NULL CHECK (symbol <> ''),
	timeframe TEXT COLLATE "C" NOT NULL,
	time TEXT COLLATE "C" NOT NULL,
	open DOUBLE PRECISION NOT NULL,
	high DOUBLE PRECISION NOT NULL,
	low DOUBLE PRECISION NOT NULL,
	close DOUBLE PRECISION NOT NULL,
	volume DOUBLE PRECISION,
	batch INTEGER NOT NULL,
	went INTEGER NOT NULL,
	until TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (symbol, timeframe, time, went)
);

CREATE TABLE market_events (
	id TEXT COLLATE "C" NOT NULL CHECK (id <> ''),
	kind TEXT COLLATE "C" NOT NULL CHECK (kind <> ''),
	time TEXT COLLATE "C" NOT NULL,
	importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
	title TEXT COLLATE "C" NOT NULL,
	symbols TEXT COLLATE "C" NOT NULL,
	known_at TEXT COLLATE "C",
	batch INTEGER NOT NULL,
	PRIMARY KEY (id)
);

CREATE INDEX market_events_by_time ON market_events (time);

CREATE TABLE former_events (
	id TEXT COLLATE "C" NOT NULL CHECK (id <> ''),
	kind TEXT COLLATE "C" NOT NULL CHECK (kind <> ''),
	time TEXT COLLATE "C" NOT NULL,
	importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
	title TEXT COLLATE "C" NOT NULL,
	symbols TEXT COLLATE "C" NOT NULL,
	known_at TEXT COLLATE "C",
	batch INTEGER NOT NULL,
	went INTEGER NOT NULL,
	until TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (id, went)
);

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

CREATE TABLE splits (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	symbol TEXT COLLATE "C" NOT NULL CHECK (symbol <> ''),
	time TEXT COLLATE "C" NOT NULL,
	ratio TEXT COLLATE "C" NOT NULL CHECK (ratio <> ''),
	load INTEGER NOT NULL,
	PRIMARY KEY (owner, symbol, time)
);

CREATE TABLE mappings (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	name TEXT COLLATE "C" NOT NULL CHECK (name <> ''),
	columns TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, name)
);

CREATE TABLE covers (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	link INTEGER NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	digest TEXT COLLATE "C" NOT NULL,
	previous TEXT COLLATE "C" NOT NULL,
	hash TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, link)
);

CREATE TABLE seals (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	what TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	nth INTEGER NOT NULL,
	was INTEGER,
	salt TEXT COLLATE "C",
	digest TEXT COLLATE "C",
	PRIMARY KEY (owner, what, key, nth)
);

CREATE UNIQUE INDEX seals_by_number ON seals (owner, nth);

CREATE TABLE mends (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	event INTEGER NOT NULL,
	link INTEGER NOT NULL,
	sealed INTEGER NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	rows INTEGER NOT NULL,
	kept TEXT COLLATE "C" NOT NULL,
	file TEXT COLLATE "C" NOT NULL,
	digest TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, event)
);

CREATE TABLE touched (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	what TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	fresh INTEGER NOT NULL,
	PRIMARY KEY (owner, what, key)
);

CREATE TABLE versions (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	memory_id TEXT COLLATE "C" NOT NULL,
	version INTEGER NOT NULL CHECK (version >= 1),
	content TEXT COLLATE "C" CHECK (length(content) BETWEEN 4 AND 500),
	summary TEXT COLLATE "C" CHECK (length(summary) <= 200),
	body TEXT COLLATE "C",
	metadata TEXT COLLATE "C",
	tags TEXT COLLATE "C",
	source TEXT COLLATE "C" NOT NULL CHECK (source IN ('profile', 'chat', 'inferred', 'extracted', 'imported')),
	score DOUBLE PRECISION CHECK (score BETWEEN 0 AND 1),
	made_by TEXT COLLATE "C",
	thread_id TEXT COLLATE "C",
	turn_ids TEXT COLLATE "C" DEFAULT '[]' NOT NULL,
	valid_from TEXT COLLATE "C" NOT NULL,
	valid_until TEXT COLLATE "C",
	recorded_at TEXT COLLATE "C" NOT NULL,
	retired_at TEXT COLLATE "C",
	restored_from INTEGER,
	correction INTEGER DEFAULT '0' NOT NULL CHECK (correction IN (0, 1)),
	quoted INTEGER DEFAULT '0' NOT NULL CHECK (quoted IN (0, 1)),
	spans TEXT COLLATE "C",
	said_on TEXT COLLATE "C" CHECK (length(said_on) = 10),
	written_by TEXT COLLATE "C",
	event INTEGER NOT NULL,
	PRIMARY KEY (owner, memory_id, version),
	FOREIGN KEY(owner, memory_id) REFERENCES memories (owner, id),
	CONSTRAINT only_extracted_has_a_score CHECK ((score IS NOT NULL) = (source = 'extracted')),
	CONSTRAINT retired_after_recorded CHECK (retired_at >= recorded_at),
	CONSTRAINT ends_after_it_began CHECK (valid_until > valid_from),
	CONSTRAINT a_quotation_names_its_words CHECK ((spans IS NOT NULL) = (quoted = 1 AND content IS NOT NULL)),
	CONSTRAINT only_a_quotation_has_its_day CHECK (said_on IS NULL OR quoted = 1)
);

CREATE INDEX versions_with_a_time ON versions (owner, memory_id, version) WHERE valid_until IS NOT NULL OR valid_from > recorded_at;

CREATE TABLE links (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	from_id TEXT COLLATE "C" NOT NULL,
	to_id TEXT COLLATE "C" NOT NULL,
	relation TEXT COLLATE "C" NOT NULL CHECK (length(relation) BETWEEN 1 AND 40),
	created_at TEXT COLLATE "C" NOT NULL,
	removed_at TEXT COLLATE "C",
	event INTEGER NOT NULL,
	PRIMARY KEY (owner, id),
	FOREIGN KEY(owner, from_id) REFERENCES memories (owner, id),
	FOREIGN KEY(owner, to_id) REFERENCES memories (owner, id),
	CONSTRAINT joins_two CHECK (from_id <> to_id)
);

CREATE UNIQUE INDEX links_from ON links (owner, from_id, to_id, relation) WHERE removed_at IS NULL;

CREATE INDEX links_to ON links (owner, to_id);

CREATE TABLE injections (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	space TEXT COLLATE "C" NOT NULL CHECK (space IN ('chat', 'outside')),
	session TEXT COLLATE "C" NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	preset TEXT COLLATE "C" NOT NULL,
	scope TEXT COLLATE "C",
	seq INTEGER NOT NULL,
	nth INTEGER NOT NULL,
	block TEXT COLLATE "C",
	lines TEXT COLLATE "C",
	rules_digest TEXT COLLATE "C",
	PRIMARY KEY (owner, space, session),
	FOREIGN KEY(owner, rules_digest) REFERENCES block_rules (owner, digest),
	CONSTRAINT lines_of_a_block CHECK (lines IS NULL OR block IS NOT NULL)
);

CREATE UNIQUE INDEX injections_by_number ON injections (owner, nth);

CREATE TABLE injected (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	memory_id TEXT COLLATE "C" NOT NULL,
	nth INTEGER NOT NULL,
	at TEXT COLLATE "C" NOT NULL,
	known TEXT COLLATE "C" NOT NULL,
	version INTEGER NOT NULL,
	space TEXT COLLATE "C" NOT NULL,
	session TEXT COLLATE "C" NOT NULL,
	injection INTEGER NOT NULL,
	PRIMARY KEY (owner, memory_id, nth),
	FOREIGN KEY(owner, memory_id) REFERENCES memories (owner, id)
);

CREATE INDEX injected_by_session ON injected (owner, space, session);

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
	model TEXT COLLATE "C",
	tokens_in INTEGER,
	tokens_out INTEGER,
	instead_of INTEGER CHECK (instead_of >= 1 AND instead_of < turn),
	broke_off TEXT COLLATE "C" CHECK (broke_off IN ('stopped', 'left', 'failed')),
	recorded_by TEXT COLLATE "C",
	unkept INTEGER CHECK (unkept = 1),
	PRIMARY KEY (owner, thread_id, turn),
	FOREIGN KEY(owner, thread_id) REFERENCES threads (owner, id)
);

CREATE TABLE page_sessions (
	hash TEXT COLLATE "C" NOT NULL,
	token_id TEXT COLLATE "C",
	identity_id TEXT COLLATE "C",
	created_at TEXT COLLATE "C" NOT NULL,
	expires_at TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (hash),
	CONSTRAINT made_with_one CHECK ((token_id IS NULL) <> (identity_id IS NULL)),
	FOREIGN KEY(token_id) REFERENCES tokens (id),
	FOREIGN KEY(identity_id) REFERENCES identities (id)
);

CREATE INDEX page_sessions_by_identity ON page_sessions (identity_id);

CREATE INDEX page_sessions_by_token ON page_sessions (token_id);

CREATE TABLE runs (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	id TEXT COLLATE "C" NOT NULL CHECK (length(id) = 8),
	agent_id TEXT COLLATE "C" NOT NULL,
	nature TEXT COLLATE "C" NOT NULL CHECK (nature IN ('scheduled', 'manual', 'chat', 'recorded', 're-examination')),
	status TEXT COLLATE "C" NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
	prompt TEXT COLLATE "C" NOT NULL,
	adapter TEXT COLLATE "C",
	model TEXT COLLATE "C",
	card_type TEXT COLLATE "C",
	card TEXT COLLATE "C",
	error TEXT COLLATE "C",
	error_code TEXT COLLATE "C",
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
	made_at TEXT COLLATE "C",
	key TEXT COLLATE "C" CHECK (length(key) BETWEEN 1 AND 200),
	link TEXT COLLATE "C",
	prompt_version TEXT COLLATE "C" CHECK (length(prompt_version) BETWEEN 1 AND 80),
	retry_of TEXT COLLATE "C",
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
);

CREATE INDEX runs_by_agent ON runs (owner, agent_id, created_at, id);

CREATE INDEX runs_by_creation ON runs (owner, created_at, id);

CREATE UNIQUE INDEX runs_by_key ON runs (owner, agent_id, key) WHERE key IS NOT NULL;

CREATE INDEX runs_by_lead ON runs (owner, lead_run) WHERE lead_run IS NOT NULL;

CREATE INDEX runs_by_parent ON runs (owner, parent_run) WHERE parent_run IS NOT NULL;

CREATE UNIQUE INDEX runs_by_step ON runs (owner, agent_id, step) WHERE step IS NOT NULL;

CREATE TABLE brought_forecasts (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	agent_id TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
	load INTEGER NOT NULL,
	recorded_at TEXT COLLATE "C" NOT NULL,
	card_type TEXT COLLATE "C" NOT NULL,
	card TEXT COLLATE "C" NOT NULL,
	probability DOUBLE PRECISION NOT NULL CHECK (probability BETWEEN 0 AND 1),
	claim TEXT COLLATE "C",
	made_at TEXT COLLATE "C" NOT NULL,
	expires TEXT COLLATE "C" NOT NULL,
	model TEXT COLLATE "C",
	prompt_version TEXT COLLATE "C" CHECK (length(prompt_version) BETWEEN 1 AND 80),
	link TEXT COLLATE "C",
	outcome TEXT COLLATE "C" CHECK (outcome IN ('true', 'false', 'void')),
	came_to TEXT COLLATE "C",
	closed_at TEXT COLLATE "C",
	answered_at TEXT COLLATE "C",
	answer_load INTEGER,
	PRIMARY KEY (owner, agent_id, key),
	FOREIGN KEY(owner, agent_id) REFERENCES agents (owner, id),
	CONSTRAINT brought_with_its_date CHECK ((outcome IS NULL) = (closed_at IS NULL)),
	CONSTRAINT brought_by_a_load CHECK ((outcome IS NULL) = (answer_load IS NULL)),
	CONSTRAINT brought_at_an_instant CHECK ((outcome IS NULL) = (answered_at IS NULL))
);

CREATE INDEX brought_forecasts_by_load ON brought_forecasts (owner, load);

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
	removed_at TEXT COLLATE "C",
	PRIMARY KEY (owner, id),
	FOREIGN KEY(owner, skill_id) REFERENCES skills (owner, id),
	CONSTRAINT ends_after_it_started CHECK (ended_at >= started_at)
);

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
	probability DOUBLE PRECISION CHECK (probability BETWEEN 0 AND 1),
	claim TEXT COLLATE "C",
	event TEXT COLLATE "C",
	recorded_at TEXT COLLATE "C",
	state TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'resolved', 'expired')),
	filled_at TEXT COLLATE "C",
	fill_price DOUBLE PRECISION,
	through TEXT COLLATE "C",
	last_close DOUBLE PRECISION,
	closed_at TEXT COLLATE "C",
	closed_by TEXT COLLATE "C" CHECK (closed_by IN ('bars', 'person', 'agent', 'resolver')),
	outcome TEXT COLLATE "C" CHECK (outcome IN ('target', 'stop', 'time', 'exited', 'expired', 'true', 'false', 'void')),
	exit_price DOUBLE PRECISION,
	result_r DOUBLE PRECISION,
	result_pct DOUBLE PRECISION,
	note TEXT COLLATE "C",
	came_to TEXT COLLATE "C",
	resolver TEXT COLLATE "C",
	settled_early TEXT COLLATE "C",
	gap TEXT COLLATE "C",
	known_at TEXT COLLATE "C",
	PRIMARY KEY (owner, run_id),
	FOREIGN KEY(owner, run_id) REFERENCES runs (owner, id),
	CONSTRAINT closed_when_not_open CHECK ((state = 'open') = (closed_at IS NULL)),
	CONSTRAINT closed_by_somebody CHECK ((closed_at IS NULL) = (closed_by IS NULL)),
	CONSTRAINT closed_with_an_outcome CHECK ((closed_at IS NULL) = (outcome IS NULL)),
	CONSTRAINT expired_is_an_outcome CHECK (outcome IS NULL OR (outcome IN ('expired', 'void')) = (state = 'expired'))
);

CREATE INDEX decisions_by_agent ON decisions (owner, agent_id, decided_at);

CREATE INDEX decisions_by_state ON decisions (owner, state, decided_at);

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
	batch INTEGER NOT NULL,
	PRIMARY KEY (owner, deployment_id, exit_time, key),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id),
	CONSTRAINT entered_left_and_known CHECK (entry_time <= exit_time AND exit_time <= known_at)
);

CREATE TABLE former_trades (
	owner TEXT COLLATE "C" NOT NULL,
	deployment_id TEXT COLLATE "C" NOT NULL,
	exit_time TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	symbol TEXT COLLATE "C" NOT NULL,
	side TEXT COLLATE "C" NOT NULL,
	quantity DOUBLE PRECISION NOT NULL,
	entry_time TEXT COLLATE "C" NOT NULL,
	entry_price DOUBLE PRECISION NOT NULL,
	exit_price DOUBLE PRECISION NOT NULL,
	fees DOUBLE PRECISION NOT NULL,
	pnl DOUBLE PRECISION NOT NULL,
	mfe DOUBLE PRECISION,
	mae DOUBLE PRECISION,
	entry_regime_tag TEXT COLLATE "C",
	entry_reason TEXT COLLATE "C",
	exit_reason TEXT COLLATE "C",
	known_at TEXT COLLATE "C" NOT NULL,
	batch INTEGER NOT NULL,
	went INTEGER NOT NULL,
	until TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, deployment_id, exit_time, key, went),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
);

CREATE INDEX former_trades_by_end ON former_trades (owner, deployment_id, until);

CREATE TABLE trade_days (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	deployment_id TEXT COLLATE "C" NOT NULL,
	day TEXT COLLATE "C" NOT NULL,
	trades INTEGER,
	last TEXT COLLATE "C",
	known_at TEXT COLLATE "C",
	figures TEXT COLLATE "C",
	parts TEXT COLLATE "C",
	PRIMARY KEY (owner, deployment_id, day),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
);

CREATE TABLE fills (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	deployment_id TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL CHECK (key <> ''),
	symbol TEXT COLLATE "C" NOT NULL CHECK (symbol <> ''),
	side TEXT COLLATE "C" NOT NULL CHECK (side IN ('buy', 'sell', 'funding', 'split', 'expiry')),
	time TEXT COLLATE "C" NOT NULL,
	quantity DOUBLE PRECISION NOT NULL,
	price DOUBLE PRECISION NOT NULL,
	fee DOUBLE PRECISION NOT NULL,
	multiplier DOUBLE PRECISION NOT NULL,
	remaining TEXT COLLATE "C" NOT NULL,
	reason TEXT COLLATE "C",
	load INTEGER,
	PRIMARY KEY (owner, deployment_id, key),
	FOREIGN KEY(owner, deployment_id) REFERENCES deployments (owner, id)
);

CREATE INDEX fills_by_time ON fills (owner, deployment_id, symbol, time);

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

CREATE TABLE former_results (
	owner TEXT COLLATE "C" NOT NULL CHECK (owner <> ''),
	run_id TEXT COLLATE "C" NOT NULL,
	nth INTEGER NOT NULL CHECK (nth >= 1),
	known_at TEXT COLLATE "C" NOT NULL,
	until TEXT COLLATE "C" NOT NULL,
	state TEXT COLLATE "C",
	filled_at TEXT COLLATE "C",
	fill_price DOUBLE PRECISION,
	through TEXT COLLATE "C",
	last_close DOUBLE PRECISION,
	closed_at TEXT COLLATE "C",
	closed_by TEXT COLLATE "C",
	outcome TEXT COLLATE "C",
	exit_price DOUBLE PRECISION,
	result_r DOUBLE PRECISION,
	result_pct DOUBLE PRECISION,
	note TEXT COLLATE "C",
	came_to TEXT COLLATE "C",
	resolver TEXT COLLATE "C",
	settled_early TEXT COLLATE "C",
	gap TEXT COLLATE "C",
	PRIMARY KEY (owner, run_id, nth),
	FOREIGN KEY(owner, run_id) REFERENCES decisions (owner, run_id)
);

-- Each row that is touched is noted, for the ledger to cover it.
CREATE FUNCTION keepbook_note_owners() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'owners', '', 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'owners', '', 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'owners', '', 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER owners_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "created_at", "preset", "zone"
  ON owners FOR EACH ROW EXECUTE FUNCTION keepbook_note_owners();
CREATE FUNCTION keepbook_note_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'memories', NEW."id", 1 WHERE NEW.purged_at IS NOT NULL
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'memories', NEW."id", 0 WHERE NEW.purged_at IS NOT NULL
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'memories', OLD."id", 0 WHERE OLD.purged_at IS NOT NULL
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER memories_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "category", "subject", "subject_key", "scope", "confidence", "importance", "version", "created_at", "edited_at", "updated_at", "last_confirmed_at", "archived_at", "archived_reason", "trashed_at", "purged_at", "event"
  ON memories FOR EACH ROW EXECUTE FUNCTION keepbook_note_memories();
CREATE FUNCTION keepbook_note_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'versions', NEW."memory_id" || chr(31) || CAST(NEW.version AS text), 1 WHERE NEW.content IS NULL
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'versions', NEW."memory_id" || chr(31) || CAST(NEW.version AS text), 0 WHERE NEW.content IS NULL
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'versions', OLD."memory_id" || chr(31) || CAST(OLD.version AS text), 0 WHERE OLD.content IS NULL
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER versions_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "memory_id", "version", "content", "summary", "body", "metadata", "tags", "source", "score", "made_by", "thread_id", "turn_ids", "valid_from", "valid_until", "recorded_at", "retired_at", "restored_from", "correction", "event", "quoted", "spans", "said_on", "written_by"
  ON versions FOR EACH ROW EXECUTE FUNCTION keepbook_note_versions();
CREATE FUNCTION keepbook_note_block_rules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'block_rules', NEW."digest", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'block_rules', OLD."digest", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'block_rules', OLD."digest", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER block_rules_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "digest", "rules"
  ON block_rules FOR EACH ROW EXECUTE FUNCTION keepbook_note_block_rules();
CREATE FUNCTION keepbook_note_injections() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'injections', NEW."space" || chr(31) || NEW."session", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'injections', OLD."space" || chr(31) || OLD."session", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'injections', OLD."space" || chr(31) || OLD."session", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER injections_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "space", "session", "at", "preset", "scope", "seq", "nth", "block", "lines", "rules_digest"
  ON injections FOR EACH ROW EXECUTE FUNCTION keepbook_note_injections();
CREATE FUNCTION keepbook_note_injected() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'injected', NEW."memory_id" || chr(31) || CAST(NEW.nth AS text), 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'injected', OLD."memory_id" || chr(31) || CAST(OLD.nth AS text), 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'injected', OLD."memory_id" || chr(31) || CAST(OLD.nth AS text), 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER injected_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "memory_id", "nth", "at", "known", "version", "space", "session", "injection"
  ON injected FOR EACH ROW EXECUTE FUNCTION keepbook_note_injected();
CREATE FUNCTION keepbook_note_erasures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'erasures', NEW."memory_id", 1 WHERE NEW.memory_id <> '*'
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'erasures', NEW."memory_id", 0 WHERE NEW.memory_id <> '*'
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'erasures', OLD."memory_id", 0 WHERE OLD.memory_id <> '*'
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER erasures_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "memory_id", "at", "event"
  ON erasures FOR EACH ROW EXECUTE FUNCTION keepbook_note_erasures();
CREATE FUNCTION keepbook_note_threads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'threads', NEW."id", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'threads', OLD."id", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'threads', OLD."id", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER threads_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "session", "agent", "preset", "title", "titled_by", "state", "incognito", "tier", "mode", "focus", "created_at", "touched_at", "deleted_at", "turns", "summary", "extracted_through", "failures", "failure", "compressed_through", "compressed", "out_of_view", "begun_by"
  ON threads FOR EACH ROW EXECUTE FUNCTION keepbook_note_threads();
CREATE FUNCTION keepbook_note_messages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'messages', NEW."thread_id" || chr(31) || CAST(NEW.turn AS text), 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'messages', OLD."thread_id" || chr(31) || CAST(OLD.turn AS text), 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'messages', OLD."thread_id" || chr(31) || CAST(OLD.turn AS text), 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER messages_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "thread_id", "turn", "role", "speaker", "text", "hidden", "parts", "at", "tokens", "model", "tokens_in", "tokens_out", "instead_of", "broke_off", "recorded_by", "unkept"
  ON messages FOR EACH ROW EXECUTE FUNCTION keepbook_note_messages();
CREATE FUNCTION keepbook_note_notes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'notes', NEW."id", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'notes', OLD."id", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'notes', OLD."id", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER notes_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "text", "thread_id", "turn", "created_at", "updated_at"
  ON notes FOR EACH ROW EXECUTE FUNCTION keepbook_note_notes();
CREATE FUNCTION keepbook_note_proposals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'proposals', NEW."id", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'proposals', OLD."id", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'proposals', OLD."id", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER proposals_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "nature", "status", "op", "memory_id", "category", "subject", "content", "score", "made_by", "thread_id", "turn_ids", "valid_from", "reason", "created_at", "decided_at", "question", "choices", "valid_until", "quoted", "spans", "said_on", "asked_by"
  ON proposals FOR EACH ROW EXECUTE FUNCTION keepbook_note_proposals();
CREATE FUNCTION keepbook_note_choices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'choices', NEW."name", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'choices', OLD."name", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'choices', OLD."name", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER choices_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "name", "value"
  ON choices FOR EACH ROW EXECUTE FUNCTION keepbook_note_choices();
CREATE FUNCTION keepbook_note_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'tokens', NEW."id", 1 WHERE NEW.owner IS NOT NULL
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'tokens', OLD."id", 0 WHERE OLD.owner IS NOT NULL
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'tokens', OLD."id", 0 WHERE OLD.owner IS NOT NULL
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "hash", "kind", "scopes", "name", "created_at", "expires_at", "revoked_at", "agent", "made_with"
  ON tokens FOR EACH ROW EXECUTE FUNCTION keepbook_note_tokens();
CREATE FUNCTION keepbook_note_identities() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'identities', NEW."id", 1 WHERE NEW.owner IS NOT NULL
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'identities', OLD."id", 0 WHERE OLD.owner IS NOT NULL
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'identities', OLD."id", 0 WHERE OLD.owner IS NOT NULL
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER identities_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "invitation", "issuer", "subject", "created_at", "expires_at", "joined_at", "ended_at"
  ON identities FOR EACH ROW EXECUTE FUNCTION keepbook_note_identities();
CREATE FUNCTION keepbook_note_loads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'loads', CAST(NEW.nth AS text), 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'loads', CAST(OLD.nth AS text), 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'loads', CAST(OLD.nth AS text), 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER loads_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "nth", "at", "actor", "what", "title", "deployment_id", "trades", "fills", "brought", "before", "told", "undone_at", "gone"
  ON loads FOR EACH ROW EXECUTE FUNCTION keepbook_note_loads();
CREATE FUNCTION keepbook_note_agents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'agents', NEW."id", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'agents', OLD."id", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'agents', OLD."id", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER agents_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "name", "instructions", "default_prompt", "model", "adapter", "card_type", "schedule", "team", "use_block", "memory_enabled", "review_decisions", "second_looks", "run_seconds", "run_tool_calls", "run_tokens", "thread_id", "created_at", "updated_at", "deleted_at", "session", "session_at", "fresh_at", "epoch", "step", "compressed", "compressed_through"
  ON agents FOR EACH ROW EXECUTE FUNCTION keepbook_note_agents();
CREATE FUNCTION keepbook_note_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'runs', NEW."id", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'runs', OLD."id", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'runs', OLD."id", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER runs_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "agent_id", "nature", "status", "prompt", "adapter", "model", "card_type", "card", "error", "error_code", "parent_run", "lead_run", "specialist", "thread_id", "session_before", "session_after", "epoch", "step", "tokens_in", "tokens_out", "created_at", "started_at", "finished_at", "made_at", "key", "link", "prompt_version", "retry_of"
  ON runs FOR EACH ROW EXECUTE FUNCTION keepbook_note_runs();
CREATE FUNCTION keepbook_note_transcripts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'transcripts', NEW."run_id" || chr(31) || CAST(NEW.turn AS text), 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'transcripts', OLD."run_id" || chr(31) || CAST(OLD.turn AS text), 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'transcripts', OLD."run_id" || chr(31) || CAST(OLD.turn AS text), 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER transcripts_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "run_id", "turn", "role", "text", "parts", "at", "tokens"
  ON transcripts FOR EACH ROW EXECUTE FUNCTION keepbook_note_transcripts();
CREATE FUNCTION keepbook_note_decisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'decisions', NEW."run_id", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'decisions', OLD."run_id", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'decisions', OLD."run_id", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER decisions_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "run_id", "agent_id", "card_type", "decided_at", "action", "symbol", "entry", "stop", "target", "conviction", "expires", "regime", "probability", "claim", "event", "recorded_at", "state", "filled_at", "fill_price", "through", "last_close", "closed_at", "closed_by", "outcome", "exit_price", "result_r", "result_pct", "note", "came_to", "resolver", "settled_early", "gap", "known_at"
  ON decisions FOR EACH ROW EXECUTE FUNCTION keepbook_note_decisions();
CREATE FUNCTION keepbook_note_former_results() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'former_results', NEW."run_id" || chr(31) || CAST(NEW.nth AS text), 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'former_results', OLD."run_id" || chr(31) || CAST(OLD.nth AS text), 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'former_results', OLD."run_id" || chr(31) || CAST(OLD.nth AS text), 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER former_results_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "run_id", "nth", "known_at", "until", "state", "filled_at", "fill_price", "through", "last_close", "closed_at", "closed_by", "outcome", "exit_price", "result_r", "result_pct", "note", "came_to", "resolver", "settled_early", "gap"
  ON former_results FOR EACH ROW EXECUTE FUNCTION keepbook_note_former_results();
CREATE FUNCTION keepbook_note_brought_forecasts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'brought_forecasts', NEW."agent_id" || chr(31) || NEW."key", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'brought_forecasts', OLD."agent_id" || chr(31) || OLD."key", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'brought_forecasts', OLD."agent_id" || chr(31) || OLD."key", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER brought_forecasts_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "agent_id", "key", "load", "recorded_at", "card_type", "card", "probability", "claim", "made_at", "expires", "model", "prompt_version", "link", "outcome", "came_to", "closed_at", "answered_at", "answer_load"
  ON brought_forecasts FOR EACH ROW EXECUTE FUNCTION keepbook_note_brought_forecasts();
CREATE FUNCTION keepbook_note_skills() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'skills', NEW."id", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'skills', OLD."id", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'skills', OLD."id", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER skills_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "name", "description", "created_at", "ended_at"
  ON skills FOR EACH ROW EXECUTE FUNCTION keepbook_note_skills();
CREATE FUNCTION keepbook_note_skill_fields() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'skill_fields', NEW."skill_id" || chr(31) || NEW."field" || chr(31) || CAST(NEW.version AS text), 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'skill_fields', OLD."skill_id" || chr(31) || OLD."field" || chr(31) || CAST(OLD.version AS text), 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'skill_fields', OLD."skill_id" || chr(31) || OLD."field" || chr(31) || CAST(OLD.version AS text), 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER skill_fields_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "skill_id", "field", "version", "value", "recorded_at", "actor", "thread_id"
  ON skill_fields FOR EACH ROW EXECUTE FUNCTION keepbook_note_skill_fields();
CREATE FUNCTION keepbook_note_deployments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'deployments', NEW."id", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'deployments', OLD."id", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'deployments', OLD."id", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER deployments_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "id", "skill_id", "name", "account", "capital", "currency", "started_at", "ended_at", "created_at", "removed_at"
  ON deployments FOR EACH ROW EXECUTE FUNCTION keepbook_note_deployments();
CREATE FUNCTION keepbook_note_positions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'positions', NEW."deployment_id" || chr(31) || NEW."symbol" || chr(31) || NEW."side" || chr(31) || NEW."entry_time" || chr(31) || NEW."known_at", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'positions', OLD."deployment_id" || chr(31) || OLD."symbol" || chr(31) || OLD."side" || chr(31) || OLD."entry_time" || chr(31) || OLD."known_at", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'positions', OLD."deployment_id" || chr(31) || OLD."symbol" || chr(31) || OLD."side" || chr(31) || OLD."entry_time" || chr(31) || OLD."known_at", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER positions_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "deployment_id", "symbol", "side", "entry_time", "known_at", "entry_price", "quantity", "closed_at"
  ON positions FOR EACH ROW EXECUTE FUNCTION keepbook_note_positions();
CREATE FUNCTION keepbook_note_fills() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'fills', NEW."deployment_id" || chr(31) || NEW."key", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'fills', OLD."deployment_id" || chr(31) || OLD."key", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'fills', OLD."deployment_id" || chr(31) || OLD."key", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER fills_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "deployment_id", "key", "symbol", "side", "time", "quantity", "price", "fee", "multiplier", "remaining", "reason", "load"
  ON fills FOR EACH ROW EXECUTE FUNCTION keepbook_note_fills();
CREATE FUNCTION keepbook_note_splits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'splits', NEW."symbol" || chr(31) || NEW."time", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'splits', OLD."symbol" || chr(31) || OLD."time", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'splits', OLD."symbol" || chr(31) || OLD."time", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER splits_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "symbol", "time", "ratio", "load"
  ON splits FOR EACH ROW EXECUTE FUNCTION keepbook_note_splits();
CREATE FUNCTION keepbook_note_mappings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'mappings', NEW."name", 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'mappings', OLD."name", 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'mappings', OLD."name", 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER mappings_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "name", "columns"
  ON mappings FOR EACH ROW EXECUTE FUNCTION keepbook_note_mappings();
CREATE FUNCTION keepbook_note_lessons() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'lessons', NEW."memory_id" || chr(31) || CAST(NEW.version AS text), 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'lessons', OLD."memory_id" || chr(31) || CAST(OLD.version AS text), 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'lessons', OLD."memory_id" || chr(31) || CAST(OLD.version AS text), 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER lessons_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "memory_id", "version", "finding", "skill_id", "deployment_id", "known_at", "window_from", "window_until", "trades", "wins", "mean", "median", "low", "high", "p", "tried", "withdrawn_at"
  ON lessons FOR EACH ROW EXECUTE FUNCTION keepbook_note_lessons();
CREATE FUNCTION keepbook_note_mends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT NEW.owner, 'mends', CAST(NEW.event AS text), 1
      ON CONFLICT DO NOTHING;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'mends', CAST(OLD.event AS text), 0
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO touched (owner, what, key, fresh)
      SELECT OLD.owner, 'mends', CAST(OLD.event AS text), 0
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER mends_is_noted AFTER INSERT OR DELETE OR UPDATE OF "owner", "event", "link", "sealed", "at", "rows", "kept", "file", "digest"
  ON mends FOR EACH ROW EXECUTE FUNCTION keepbook_note_mends();

-- The guards of the book, as triggers, and who may do what. The SQLite file beside this one says the same.
-- Every change of a memory names, in `event`, the ledger entry that accounts for it.

CREATE FUNCTION keepbook_refuse(why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'guard: %', why USING ERRCODE = 'integrity_constraint_violation'; END $$;

-- Whom a transaction serves, and its turn to write. Where the tables are spread over several nodes it is said by a
-- command: only that goes along to them.
CREATE FUNCTION keepbook_serve(an_owner text, turn bigint DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('citus.propagate_set_commands', true) = 'local' THEN
    EXECUTE format('SET LOCAL keepbook.owner = %L', an_owner);
  ELSE
    PERFORM set_config('keepbook.owner', an_owner, true);
  END IF;
  IF turn IS NOT NULL THEN PERFORM pg_advisory_xact_lock(turn); END IF;
END $$;

-- Not in the language SQL: a node that looks at its own part of a table cannot plan that.
CREATE FUNCTION keepbook_erased(an_owner text, VARIADIC ids text[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN EXISTS (SELECT 1 FROM erasures WHERE owner = an_owner AND memory_id = ANY (ids)); END $$;

CREATE FUNCTION keepbook_actor(an_owner text, a_seq integer) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN (SELECT actor FROM ledger WHERE owner = an_owner AND seq = a_seq); END $$;

-- The chain: entries and covers are its links, numbered without gaps, each on the one before it, of either kind. Where a
-- restored book was mended, what stands before that has gaps.
CREATE FUNCTION keepbook_mends_come_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner) OR EXISTS (SELECT 1 FROM covers WHERE owner = NEW.owner) THEN
    PERFORM keepbook_refuse('a book is mended by its operator alone');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER mends_come_before_the_chain BEFORE INSERT ON mends FOR EACH ROW EXECUTE FUNCTION keepbook_mends_come_before();

CREATE FUNCTION keepbook_ledger_appends() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last ledger%ROWTYPE; cover covers%ROWTYPE;
BEGIN
  SELECT * INTO last FROM ledger WHERE owner = NEW.owner ORDER BY seq DESC LIMIT 1;
  SELECT * INTO cover FROM covers WHERE owner = NEW.owner ORDER BY link DESC LIMIT 1;
  IF (NEW.seq <> 1 + coalesce(last.seq, 0) OR NEW.at <= coalesce(last.at, '')
    OR NEW.link <> 1 + greatest(coalesce(last.link, 0), coalesce(cover.link, 0))
    OR NEW.previous <> (CASE WHEN coalesce(cover.link, 0) > coalesce(last.link, 0) THEN cover.hash ELSE coalesce(last.hash, '') END))
    AND NEW.link > coalesce((SELECT max(m.link) FROM mends m WHERE m.owner = NEW.owner), 0)
  THEN
    PERFORM keepbook_refuse('a ledger entry follows the one before it, in number, hash and time');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER ledger_appends BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION keepbook_ledger_appends();

CREATE FUNCTION keepbook_covers_append() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last ledger%ROWTYPE; cover covers%ROWTYPE;
BEGIN
  SELECT * INTO last FROM ledger WHERE owner = NEW.owner ORDER BY seq DESC LIMIT 1;
  SELECT * INTO cover FROM covers WHERE owner = NEW.owner ORDER BY link DESC LIMIT 1;
  IF TG_OP = 'UPDATE' OR (NEW.link <> 1 + greatest(coalesce(last.link, 0), coalesce(cover.link, 0))
    OR NEW.previous <> (CASE WHEN coalesce(cover.link, 0) > coalesce(last.link, 0) THEN cover.hash ELSE coalesce(last.hash, '') END)
    OR NEW.first <> 1 + coalesce(cover.last, 0) OR NEW.last < NEW.first)
    AND NEW.link > coalesce((SELECT max(m.link) + 1 FROM mends m WHERE m.owner = NEW.owner), 0)
  THEN
    PERFORM keepbook_refuse('a cover follows the link before it, in number and hash');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER covers_append BEFORE INSERT OR UPDATE ON covers FOR EACH ROW EXECUTE FUNCTION keepbook_covers_append();

-- Seals: numbered without gaps; only the salt may go, once the row is in another state.
CREATE FUNCTION keepbook_seals_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.nth <> 1 + coalesce((SELECT max(nth) FROM seals WHERE owner = NEW.owner), 0)
    AND NEW.nth > coalesce((SELECT max(m.sealed) + 1 FROM mends m WHERE m.owner = NEW.owner), 0)
  THEN
    PERFORM keepbook_refuse('seals are numbered without gaps');
  END IF;
  IF TG_OP = 'UPDATE' AND NOT (
    NEW.salt IS NULL
    AND (NEW.owner, NEW.nth, NEW.what, NEW.key, NEW.was, NEW.digest)
      IS NOT DISTINCT FROM (OLD.owner, OLD.nth, OLD.what, OLD.key, OLD.was, OLD.digest)
    AND EXISTS (SELECT 1 FROM seals WHERE owner = OLD.owner AND what = OLD.what AND key = OLD.key AND was = OLD.nth)
  ) THEN PERFORM keepbook_refuse('a seal is never rewritten'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER seals_append BEFORE INSERT OR UPDATE ON seals FOR EACH ROW EXECUTE FUNCTION keepbook_seals_append();

CREATE FUNCTION keepbook_ledger_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    keepbook_erased(OLD.owner, OLD.memory_id, OLD.other_id)
    AND NEW.before IS NULL AND NEW.after IS NULL AND NEW.salt IS NULL
    AND (NEW.owner, NEW.seq, NEW.at, NEW.actor, NEW.door, NEW.thread_id, NEW.action, NEW.memory_id, NEW.other_id,
         NEW.link_id, NEW.link, NEW.undoes, NEW.digest, NEW.previous, NEW.hash)
      IS NOT DISTINCT FROM
        (OLD.owner, OLD.seq, OLD.at, OLD.actor, OLD.door, OLD.thread_id, OLD.action, OLD.memory_id, OLD.other_id,
         OLD.link_id, OLD.link, OLD.undoes, OLD.digest, OLD.previous, OLD.hash)
  ) THEN PERFORM keepbook_refuse('the ledger is append-only'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER ledger_never_changes BEFORE UPDATE ON ledger FOR EACH ROW EXECUTE FUNCTION keepbook_ledger_never_changes();

-- Deleting: only when the whole book goes, or the memory that a column names; a link also goes with either of its ends.
CREATE FUNCTION keepbook_never_vanishes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT keepbook_erased(OLD.owner, '*')
    AND (TG_NARGS = 0 OR NOT keepbook_erased(OLD.owner, to_jsonb(OLD) ->> TG_ARGV[0])) THEN
    PERFORM keepbook_refuse('nothing is deleted from ' || TG_TABLE_NAME || ' but by an erasure');
  END IF;
  RETURN OLD;
END $$;

CREATE FUNCTION keepbook_links_never_vanish() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT keepbook_erased(OLD.owner, '*', OLD.from_id, OLD.to_id) THEN
    PERFORM keepbook_refuse('a link is removed in the ledger, never deleted');
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER links_never_vanish BEFORE DELETE ON links FOR EACH ROW EXECUTE FUNCTION keepbook_links_never_vanish();

-- TRUNCATE fires no row trigger.
CREATE FUNCTION keepbook_never_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM keepbook_refuse(TG_TABLE_NAME || ' is append-only'); RETURN NULL; END $$;

-- Memories: a change comes with a newer ledger entry about this memory, and automation never drops a person's word.
CREATE FUNCTION keepbook_memories_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event AND memory_id = NEW.id AND link_id IS NULL)
    OR (NEW.purged_at IS NULL AND (NEW.version <> 1 OR NEW.last_confirmed_at IS NOT NULL))
    OR (NEW.purged_at IS NOT NULL AND NOT keepbook_erased(NEW.owner, NEW.id))
  THEN
    PERFORM keepbook_refuse('a memory begins with a ledger entry');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER memories_begin_in_the_ledger BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION keepbook_memories_begin();

CREATE FUNCTION keepbook_memories_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    NEW.owner = OLD.owner AND NEW.id = OLD.id AND NEW.created_at = OLD.created_at AND OLD.purged_at IS NULL
    AND (
      (NEW.purged_at IS NULL AND NEW.event > OLD.event
       AND NEW.version = (SELECT max(version) FROM versions WHERE owner = NEW.owner AND memory_id = NEW.id)
       AND EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event AND memory_id = NEW.id AND link_id IS NULL))
      OR (NEW.purged_at IS NOT NULL AND NEW.subject IS NULL AND keepbook_erased(OLD.owner, OLD.id))
    )
  ) THEN PERFORM keepbook_refuse('a memory changes only with a ledger entry of its own'); END IF;
  IF NEW.purged_at IS NULL AND keepbook_actor(NEW.owner, NEW.event) IN ('extractor', 'job') AND (
    (NEW.confidence = 'asserted' AND OLD.confidence = 'inferred')
    OR NEW.last_confirmed_at IS DISTINCT FROM OLD.last_confirmed_at
    OR (
      ((NEW.archived_at IS NOT NULL AND OLD.archived_at IS NULL)
       OR (NEW.trashed_at IS NOT NULL AND OLD.trashed_at IS NULL)
       OR (NEW.confidence = 'inferred' AND OLD.confidence = 'asserted'))
      AND (OLD.confidence = 'asserted' OR OLD.last_confirmed_at IS NOT NULL
           OR (SELECT source FROM versions WHERE owner = OLD.owner AND memory_id = OLD.id AND version = OLD.version)
              NOT IN ('extracted', 'inferred'))
    )
  ) THEN PERFORM keepbook_refuse('automation may not overrule a person'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER memories_change_in_the_ledger BEFORE UPDATE ON memories FOR EACH ROW EXECUTE FUNCTION keepbook_memories_change();

-- Versions: numbered without gaps, each ending the one before it, nothing rewritten, and the person's word first.
CREATE FUNCTION keepbook_versions_begin() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last versions%ROWTYPE; book memories%ROWTYPE; who text;
BEGIN
  SELECT * INTO last FROM versions WHERE owner = NEW.owner AND memory_id = NEW.memory_id ORDER BY version DESC LIMIT 1;
  SELECT * INTO book FROM memories WHERE owner = NEW.owner AND id = NEW.memory_id;
  IF NEW.version <> 1 + coalesce(last.version, 0)
    OR last.recorded_at >= NEW.recorded_at OR last.retired_at > NEW.recorded_at
    OR NOT EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event
                     AND memory_id = NEW.memory_id AND at = NEW.recorded_at AND link_id IS NULL)
  THEN PERFORM keepbook_refuse('a version follows the one before it and stands in the ledger'); END IF;
  IF keepbook_erased(NEW.owner, NEW.memory_id) THEN
    -- What was erased comes in blank (a restored export), and no further than it went.
    IF NOT (NEW.content IS NULL AND NEW.summary IS NULL AND NEW.body IS NULL AND NEW.metadata IS NULL AND NEW.tags IS NULL AND NEW.spans IS NULL) OR NEW.version > book.version THEN
      PERFORM keepbook_refuse('a version has content and is current until it is erased');
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.content IS NULL OR NEW.retired_at IS NOT NULL THEN
    PERFORM keepbook_refuse('a version has content and is current until it is erased');
  END IF;
  who := keepbook_actor(NEW.owner, NEW.event);
  IF NEW.version = 1 AND NEW.source IN ('extracted', 'inferred') AND book.confidence <> 'inferred' THEN
    PERFORM keepbook_refuse('what software read is inferred until a person promotes it');
  END IF;
  IF NEW.version > 1 AND (NEW.source IN ('extracted', 'inferred') OR who IN ('extractor', 'job'))
    AND (book.confidence = 'asserted' OR book.last_confirmed_at IS NOT NULL OR last.source NOT IN ('extracted', 'inferred'))
    AND NOT (who = 'person' AND EXISTS (
      SELECT 1 FROM versions r
      WHERE r.owner = NEW.owner AND r.memory_id = NEW.memory_id AND r.version = NEW.restored_from
        AND r.content IS NOT DISTINCT FROM NEW.content AND r.summary IS NOT DISTINCT FROM NEW.summary AND r.body IS NOT DISTINCT FROM NEW.body AND r.metadata IS NOT DISTINCT FROM NEW.metadata AND r.tags IS NOT DISTINCT FROM NEW.tags AND r.source IS NOT DISTINCT FROM NEW.source AND r.score IS NOT DISTINCT FROM NEW.score AND r.made_by IS NOT DISTINCT FROM NEW.made_by AND r.thread_id IS NOT DISTINCT FROM NEW.thread_id AND r.turn_ids IS NOT DISTINCT FROM NEW.turn_ids AND r.valid_from IS NOT DISTINCT FROM NEW.valid_from AND r.valid_until IS NOT DISTINCT FROM NEW.valid_until AND r.quoted IS NOT DISTINCT FROM NEW.quoted AND r.spans IS NOT DISTINCT FROM NEW.spans AND r.said_on IS NOT DISTINCT FROM NEW.said_on AND r.written_by IS NOT DISTINCT FROM NEW.written_by))
  THEN PERFORM keepbook_refuse('automation may not overrule a person'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER versions_follow_each_other BEFORE INSERT ON versions FOR EACH ROW EXECUTE FUNCTION keepbook_versions_begin();

CREATE FUNCTION keepbook_versions_end_the_one_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE versions SET retired_at = NEW.recorded_at
    WHERE owner = NEW.owner AND memory_id = NEW.memory_id AND version = NEW.version - 1 AND retired_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER versions_end_the_one_before AFTER INSERT ON versions
  FOR EACH ROW WHEN (NEW.version > 1) EXECUTE FUNCTION keepbook_versions_end_the_one_before();

CREATE FUNCTION keepbook_versions_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    NEW.owner IS NOT DISTINCT FROM OLD.owner AND NEW.memory_id IS NOT DISTINCT FROM OLD.memory_id AND NEW.version IS NOT DISTINCT FROM OLD.version AND NEW.source IS NOT DISTINCT FROM OLD.source AND NEW.score IS NOT DISTINCT FROM OLD.score AND NEW.made_by IS NOT DISTINCT FROM OLD.made_by AND NEW.thread_id IS NOT DISTINCT FROM OLD.thread_id AND NEW.turn_ids IS NOT DISTINCT FROM OLD.turn_ids AND NEW.valid_from IS NOT DISTINCT FROM OLD.valid_from AND NEW.valid_until IS NOT DISTINCT FROM OLD.valid_until AND NEW.recorded_at IS NOT DISTINCT FROM OLD.recorded_at AND NEW.restored_from IS NOT DISTINCT FROM OLD.restored_from AND NEW.correction IS NOT DISTINCT FROM OLD.correction AND NEW.quoted IS NOT DISTINCT FROM OLD.quoted AND NEW.said_on IS NOT DISTINCT FROM OLD.said_on AND NEW.written_by IS NOT DISTINCT FROM OLD.written_by AND NEW.event IS NOT DISTINCT FROM OLD.event
    AND (
      (NEW.content IS NOT DISTINCT FROM OLD.content AND NEW.summary IS NOT DISTINCT FROM OLD.summary AND NEW.body IS NOT DISTINCT FROM OLD.body AND NEW.metadata IS NOT DISTINCT FROM OLD.metadata AND NEW.tags IS NOT DISTINCT FROM OLD.tags AND NEW.spans IS NOT DISTINCT FROM OLD.spans
       AND OLD.retired_at IS NULL AND NEW.retired_at IS NOT NULL
       AND EXISTS (SELECT 1 FROM versions WHERE owner = OLD.owner AND memory_id = OLD.memory_id
                     AND version = OLD.version + 1 AND recorded_at = NEW.retired_at))
      OR (NEW.content IS NULL AND NEW.summary IS NULL AND NEW.body IS NULL AND NEW.metadata IS NULL AND NEW.tags IS NULL AND NEW.spans IS NULL
          AND NEW.retired_at IS NOT DISTINCT FROM OLD.retired_at AND keepbook_erased(OLD.owner, OLD.memory_id))
    )
  ) THEN PERFORM keepbook_refuse('a version is never rewritten'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER versions_never_change BEFORE UPDATE ON versions FOR EACH ROW EXECUTE FUNCTION keepbook_versions_never_change();

-- Links: what they join stays; only standing or removed may change, with a ledger entry.
CREATE FUNCTION keepbook_links_in_the_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event AND link_id = NEW.id)
    OR (TG_OP = 'UPDATE' AND NOT (
      (NEW.owner, NEW.id, NEW.from_id, NEW.to_id, NEW.relation, NEW.created_at)
        = (OLD.owner, OLD.id, OLD.from_id, OLD.to_id, OLD.relation, OLD.created_at) AND NEW.event > OLD.event))
  THEN PERFORM keepbook_refuse('a link keeps its ends and changes only with a ledger entry'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER links_begin_in_the_ledger BEFORE INSERT OR UPDATE ON links FOR EACH ROW EXECUTE FUNCTION keepbook_links_in_the_ledger();

-- Injections: what a session saw stays as it was, unless a purge blanked it.
CREATE FUNCTION keepbook_injections_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    (NEW.owner, NEW.space, NEW.session, NEW.preset, NEW.scope)
      IS NOT DISTINCT FROM (OLD.owner, OLD.space, OLD.session, OLD.preset, OLD.scope)
    AND (
      OLD.block IS NULL
      OR (NEW.block IS NULL AND NEW.at = OLD.at AND NEW.seq = OLD.seq AND NEW.nth = OLD.nth
          AND NEW.rules_digest IS NOT DISTINCT FROM OLD.rules_digest AND EXISTS (
        SELECT 1 FROM injected i JOIN erasures e ON e.owner = i.owner AND e.memory_id = i.memory_id
        WHERE i.owner = OLD.owner AND i.space = OLD.space AND i.session = OLD.session AND e.event > OLD.seq))
    )
  ) THEN PERFORM keepbook_refuse('an injection is never rewritten'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER injections_never_change BEFORE UPDATE ON injections FOR EACH ROW EXECUTE FUNCTION keepbook_injections_never_change();

CREATE FUNCTION keepbook_injected_appends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.nth <> 1 + coalesce((SELECT max(nth) FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id), 0) THEN
    PERFORM keepbook_refuse('injections are counted without gaps');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER injected_appends BEFORE INSERT ON injected FOR EACH ROW EXECUTE FUNCTION keepbook_injected_appends();

-- Erasures: naming what goes is what makes it go. The application's role cannot blank or delete by itself;
-- this function can, for exactly what the new row names.
CREATE FUNCTION keepbook_erasures_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN PERFORM keepbook_refuse('an erasure is never taken back'); END IF;
  IF NEW.memory_id <> '*' AND (
    NOT EXISTS (SELECT 1 FROM ledger WHERE owner = NEW.owner AND seq = NEW.event
                  AND memory_id = NEW.memory_id AND action = 'purge' AND actor <> 'extractor')
    OR EXISTS (SELECT 1 FROM memories m JOIN ledger l ON l.owner = m.owner AND l.seq = NEW.event
               WHERE m.owner = NEW.owner AND m.id = NEW.memory_id AND l.actor = 'job' AND m.trashed_at IS NULL))
  THEN
    PERFORM keepbook_refuse('an erasure stands in the ledger; a job erases only what a person put in the trash');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER erasures_begin BEFORE INSERT OR UPDATE ON erasures FOR EACH ROW EXECUTE FUNCTION keepbook_erasures_begin();

CREATE FUNCTION keepbook_erase() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF NEW.memory_id <> '*' THEN
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
    DELETE FROM proposals WHERE owner = NEW.owner AND (memory_id = NEW.memory_id OR strpos(choices, NEW.memory_id) > 0);
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
  ELSE
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
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER erasures_take AFTER INSERT ON erasures FOR EACH ROW EXECUTE FUNCTION keepbook_erase();

-- Chats: what was said is kept as it was said, until the whole chat goes.
CREATE FUNCTION keepbook_messages_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.turn <> 1 + coalesce((SELECT max(turn) FROM messages WHERE owner = NEW.owner AND thread_id = NEW.thread_id), 0) THEN
    PERFORM keepbook_refuse('the turns of a chat are numbered without gaps');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER messages_append BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION keepbook_messages_append();

-- Loads: what a file brought is taken back once, and never rewritten.
CREATE FUNCTION keepbook_loads_are_taken_back_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.undone_at IS NOT NULL
    OR (NEW.owner, NEW.nth, NEW.at, NEW.actor, NEW.what, NEW.title, NEW.deployment_id, NEW.trades, NEW.fills, NEW.before)
    IS DISTINCT FROM
       (OLD.owner, OLD.nth, OLD.at, OLD.actor, OLD.what, OLD.title, OLD.deployment_id, OLD.trades, OLD.fills, OLD.before)
    OR NOT (
      (NEW.undone_at IS NOT NULL AND NEW.gone IS NOT NULL AND NEW.brought = OLD.brought AND NEW.told = OLD.told)
      OR (NEW.undone_at IS NULL AND NEW.gone IS NULL AND OLD.told LIKE '%"under_way": true%')
    )
  THEN
    PERFORM keepbook_refuse('a load that is whole is taken back, never rewritten');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER loads_are_taken_back_once BEFORE UPDATE ON loads FOR EACH ROW EXECUTE FUNCTION keepbook_loads_are_taken_back_once();

-- A service token opens every book. The application's role makes none, makes no other token one, and brings none back;
-- it notes that one was used, and revokes it.
CREATE FUNCTION keepbook_service_tokens_are_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN RETURN NEW; END IF;
  IF TG_OP = 'UPDATE' AND OLD.kind = 'service'
    AND (NEW.id, NEW.owner, NEW.hash, NEW.scopes, NEW.name, NEW.created_at, NEW.expires_at, NEW.agent, NEW.made_with)
      IS NOT DISTINCT FROM
      (OLD.id, OLD.owner, OLD.hash, OLD.scopes, OLD.name, OLD.created_at, OLD.expires_at, OLD.agent, OLD.made_with)
    AND (OLD.revoked_at IS NULL OR NEW.revoked_at IS NOT DISTINCT FROM OLD.revoked_at)
  THEN
    RETURN NEW;
  END IF;
  PERFORM keepbook_refuse('only the administrator makes or changes a service token; name their login in KEEPBOOK_ADMIN_DB');
  RETURN NULL;
END $$;
CREATE TRIGGER service_tokens_are_made BEFORE INSERT OR UPDATE ON tokens
  FOR EACH ROW WHEN (NEW.kind = 'service') EXECUTE FUNCTION keepbook_service_tokens_are_made();

-- What follows from how each table is declared.
GRANT SELECT, INSERT, UPDATE, DELETE ON owners TO keepbook_app;
CREATE TRIGGER ledger_never_vanish BEFORE DELETE ON ledger
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER ledger_never_truncated BEFORE TRUNCATE ON ledger
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE ledger ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON ledger USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON ledger TO keepbook_app;
CREATE TRIGGER memories_never_vanish BEFORE DELETE ON memories
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER memories_never_truncated BEFORE TRUNCATE ON memories
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON memories USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE ON memories TO keepbook_app;
CREATE TRIGGER versions_never_vanish BEFORE DELETE ON versions
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER versions_never_truncated BEFORE TRUNCATE ON versions
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE versions FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON versions USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON versions TO keepbook_app;
GRANT UPDATE ("retired_at") ON versions TO keepbook_app;
CREATE TRIGGER links_never_truncated BEFORE TRUNCATE ON links
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE links ENABLE ROW LEVEL SECURITY;
ALTER TABLE links FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON links USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE ON links TO keepbook_app;
CREATE FUNCTION keepbook_block_rules_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of block_rules is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER block_rules_never_change BEFORE UPDATE ON block_rules
  FOR EACH ROW EXECUTE FUNCTION keepbook_block_rules_never_change();
CREATE TRIGGER block_rules_never_vanish BEFORE DELETE ON block_rules
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER block_rules_never_truncated BEFORE TRUNCATE ON block_rules
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE block_rules ENABLE ROW LEVEL SECURITY;
ALTER TABLE block_rules FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON block_rules USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON block_rules TO keepbook_app;
CREATE TRIGGER injections_never_vanish BEFORE DELETE ON injections
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER injections_never_truncated BEFORE TRUNCATE ON injections
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE injections ENABLE ROW LEVEL SECURITY;
ALTER TABLE injections FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON injections USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON injections TO keepbook_app;
GRANT UPDATE ("at", "seq", "nth", "block", "lines", "rules_digest") ON injections TO keepbook_app;
CREATE FUNCTION keepbook_injected_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of injected is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER injected_never_change BEFORE UPDATE ON injected
  FOR EACH ROW EXECUTE FUNCTION keepbook_injected_never_change();
CREATE TRIGGER injected_never_vanish BEFORE DELETE ON injected
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER injected_never_truncated BEFORE TRUNCATE ON injected
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE injected ENABLE ROW LEVEL SECURITY;
ALTER TABLE injected FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON injected USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON injected TO keepbook_app;
CREATE TRIGGER erasures_never_vanish BEFORE DELETE ON erasures
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER erasures_never_truncated BEFORE TRUNCATE ON erasures
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE erasures ENABLE ROW LEVEL SECURITY;
ALTER TABLE erasures FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON erasures USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON erasures TO keepbook_app;
CREATE FUNCTION keepbook_terms_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of terms is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER terms_never_change BEFORE UPDATE ON terms
  FOR EACH ROW EXECUTE FUNCTION keepbook_terms_never_change();
ALTER TABLE terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE terms FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON terms USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON terms TO keepbook_app;
CREATE FUNCTION keepbook_likeness_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of likeness is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER likeness_never_change BEFORE UPDATE ON likeness
  FOR EACH ROW EXECUTE FUNCTION keepbook_likeness_never_change();
ALTER TABLE likeness ENABLE ROW LEVEL SECURITY;
ALTER TABLE likeness FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON likeness USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON likeness TO keepbook_app;
CREATE FUNCTION keepbook_labels_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of labels is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER labels_never_change BEFORE UPDATE ON labels
  FOR EACH ROW EXECUTE FUNCTION keepbook_labels_never_change();
ALTER TABLE labels ENABLE ROW LEVEL SECURITY;
ALTER TABLE labels FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON labels USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON labels TO keepbook_app;
ALTER TABLE threads ENABLE ROW LEVEL SECURITY;
ALTER TABLE threads FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON threads USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON threads TO keepbook_app;
CREATE FUNCTION keepbook_messages_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of messages is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER messages_never_change BEFORE UPDATE ON messages
  FOR EACH ROW EXECUTE FUNCTION keepbook_messages_never_change();
ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE messages FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON messages USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON messages TO keepbook_app;
CREATE FUNCTION keepbook_turn_terms_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of turn_terms is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER turn_terms_never_change BEFORE UPDATE ON turn_terms
  FOR EACH ROW EXECUTE FUNCTION keepbook_turn_terms_never_change();
ALTER TABLE turn_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE turn_terms FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON turn_terms USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON turn_terms TO keepbook_app;
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
ALTER TABLE notes FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON notes USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO keepbook_app;
ALTER TABLE proposals ENABLE ROW LEVEL SECURITY;
ALTER TABLE proposals FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON proposals USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON proposals TO keepbook_app;
ALTER TABLE choices ENABLE ROW LEVEL SECURITY;
ALTER TABLE choices FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON choices USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON choices TO keepbook_app;
ALTER TABLE meter ENABLE ROW LEVEL SECURITY;
ALTER TABLE meter FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON meter USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON meter TO keepbook_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON due TO keepbook_app;
CREATE FUNCTION keepbook_vectors_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of vectors is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER vectors_never_change BEFORE UPDATE ON vectors
  FOR EACH ROW EXECUTE FUNCTION keepbook_vectors_never_change();
ALTER TABLE vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE vectors FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON vectors USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON vectors TO keepbook_app;
ALTER TABLE vector_spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE vector_spaces FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON vector_spaces USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON vector_spaces TO keepbook_app;
GRANT SELECT, INSERT, UPDATE ON tokens TO keepbook_app;
CREATE FUNCTION keepbook_identities_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW."id", NEW."owner", NEW."invitation", NEW."created_at", NEW."expires_at") IS NOT DISTINCT FROM (OLD."id", OLD."owner", OLD."invitation", OLD."created_at", OLD."expires_at") THEN RETURN NEW; END IF;
  PERFORM keepbook_refuse('a row of identities is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER identities_never_change BEFORE UPDATE ON identities
  FOR EACH ROW EXECUTE FUNCTION keepbook_identities_never_change();
GRANT SELECT, INSERT, DELETE ON identities TO keepbook_app;
GRANT UPDATE ("issuer", "subject", "joined_at", "ended_at") ON identities TO keepbook_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON page_sessions TO keepbook_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON leases TO keepbook_app;
CREATE FUNCTION keepbook_answers_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of answers is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER answers_never_change BEFORE UPDATE ON answers
  FOR EACH ROW EXECUTE FUNCTION keepbook_answers_never_change();
ALTER TABLE answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE answers FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON answers USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON answers TO keepbook_app;
CREATE TRIGGER loads_never_vanish BEFORE DELETE ON loads
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER loads_never_truncated BEFORE TRUNCATE ON loads
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE loads ENABLE ROW LEVEL SECURITY;
ALTER TABLE loads FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON loads USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON loads TO keepbook_app;
GRANT UPDATE ("brought", "told", "undone_at", "gone") ON loads TO keepbook_app;
GRANT SELECT ON extensions TO keepbook_app;
ALTER TABLE armed ENABLE ROW LEVEL SECURITY;
ALTER TABLE armed FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON armed USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON armed TO keepbook_app;
CREATE TRIGGER agents_never_vanish BEFORE DELETE ON agents
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER agents_never_truncated BEFORE TRUNCATE ON agents
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON agents USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE ON agents TO keepbook_app;
CREATE TRIGGER runs_never_vanish BEFORE DELETE ON runs
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER runs_never_truncated BEFORE TRUNCATE ON runs
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE runs FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON runs USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON runs TO keepbook_app;
GRANT UPDATE ("status", "adapter", "model", "card", "error", "error_code", "session_before", "session_after", "epoch", "step", "tokens_in", "tokens_out", "started_at", "finished_at") ON runs TO keepbook_app;
CREATE FUNCTION keepbook_transcripts_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of transcripts is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER transcripts_never_change BEFORE UPDATE ON transcripts
  FOR EACH ROW EXECUTE FUNCTION keepbook_transcripts_never_change();
CREATE TRIGGER transcripts_never_vanish BEFORE DELETE ON transcripts
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER transcripts_never_truncated BEFORE TRUNCATE ON transcripts
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE transcripts ENABLE ROW LEVEL SECURITY;
ALTER TABLE transcripts FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON transcripts USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON transcripts TO keepbook_app;
CREATE TRIGGER decisions_never_vanish BEFORE DELETE ON decisions
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER decisions_never_truncated BEFORE TRUNCATE ON decisions
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE decisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE decisions FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON decisions USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON decisions TO keepbook_app;
GRANT UPDATE ("state", "filled_at", "fill_price", "through", "last_close", "closed_at", "closed_by", "outcome", "exit_price", "result_r", "result_pct", "note", "came_to", "resolver", "settled_early", "gap", "known_at") ON decisions TO keepbook_app;
CREATE FUNCTION keepbook_former_results_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of former_results is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER former_results_never_change BEFORE UPDATE ON former_results
  FOR EACH ROW EXECUTE FUNCTION keepbook_former_results_never_change();
CREATE TRIGGER former_results_never_vanish BEFORE DELETE ON former_results
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER former_results_never_truncated BEFORE TRUNCATE ON former_results
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE former_results ENABLE ROW LEVEL SECURITY;
ALTER TABLE former_results FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON former_results USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON former_results TO keepbook_app;
CREATE TRIGGER brought_forecasts_never_truncated BEFORE TRUNCATE ON brought_forecasts
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE brought_forecasts ENABLE ROW LEVEL SECURITY;
ALTER TABLE brought_forecasts FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON brought_forecasts USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON brought_forecasts TO keepbook_app;
GRANT UPDATE ("outcome", "came_to", "closed_at", "answered_at", "answer_load") ON brought_forecasts TO keepbook_app;
CREATE FUNCTION keepbook_batches_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW."nth", NEW."source", NEW."link", NEW."what", NEW."at", NEW."came", NEW."went", NEW."spans", NEW."digest", NEW."previous", NEW."hash") IS NOT DISTINCT FROM (OLD."nth", OLD."source", OLD."link", OLD."what", OLD."at", OLD."came", OLD."went", OLD."spans", OLD."digest", OLD."previous", OLD."hash") THEN RETURN NEW; END IF;
  PERFORM keepbook_refuse('a row of batches is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER batches_never_change BEFORE UPDATE ON batches
  FOR EACH ROW EXECUTE FUNCTION keepbook_batches_never_change();
GRANT SELECT, INSERT ON batches TO keepbook_app;
GRANT UPDATE ("settled") ON batches TO keepbook_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON bars TO keepbook_app;
CREATE FUNCTION keepbook_former_bars_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of former_bars is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER former_bars_never_change BEFORE UPDATE ON former_bars
  FOR EACH ROW EXECUTE FUNCTION keepbook_former_bars_never_change();
GRANT SELECT, INSERT ON former_bars TO keepbook_app;
GRANT SELECT, INSERT, UPDATE ON market_events TO keepbook_app;
CREATE FUNCTION keepbook_former_events_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of former_events is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER former_events_never_change BEFORE UPDATE ON former_events
  FOR EACH ROW EXECUTE FUNCTION keepbook_former_events_never_change();
GRANT SELECT, INSERT ON former_events TO keepbook_app;
CREATE FUNCTION keepbook_event_symbols_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of event_symbols is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER event_symbols_never_change BEFORE UPDATE ON event_symbols
  FOR EACH ROW EXECUTE FUNCTION keepbook_event_symbols_never_change();
GRANT SELECT, INSERT, DELETE ON event_symbols TO keepbook_app;
CREATE TRIGGER skills_never_vanish BEFORE DELETE ON skills
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER skills_never_truncated BEFORE TRUNCATE ON skills
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE skills ENABLE ROW LEVEL SECURITY;
ALTER TABLE skills FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON skills USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE ON skills TO keepbook_app;
CREATE FUNCTION keepbook_skill_fields_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of skill_fields is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER skill_fields_never_change BEFORE UPDATE ON skill_fields
  FOR EACH ROW EXECUTE FUNCTION keepbook_skill_fields_never_change();
CREATE TRIGGER skill_fields_never_vanish BEFORE DELETE ON skill_fields
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER skill_fields_never_truncated BEFORE TRUNCATE ON skill_fields
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE skill_fields ENABLE ROW LEVEL SECURITY;
ALTER TABLE skill_fields FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON skill_fields USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON skill_fields TO keepbook_app;
CREATE TRIGGER deployments_never_vanish BEFORE DELETE ON deployments
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER deployments_never_truncated BEFORE TRUNCATE ON deployments
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE deployments ENABLE ROW LEVEL SECURITY;
ALTER TABLE deployments FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON deployments USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE ON deployments TO keepbook_app;
CREATE TRIGGER positions_never_vanish BEFORE DELETE ON positions
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER positions_never_truncated BEFORE TRUNCATE ON positions
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE positions ENABLE ROW LEVEL SECURITY;
ALTER TABLE positions FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON positions USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE ON positions TO keepbook_app;
CREATE TRIGGER trades_never_truncated BEFORE TRUNCATE ON trades
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE trades ENABLE ROW LEVEL SECURITY;
ALTER TABLE trades FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON trades USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON trades TO keepbook_app;
CREATE FUNCTION keepbook_former_trades_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of former_trades is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER former_trades_never_change BEFORE UPDATE ON former_trades
  FOR EACH ROW EXECUTE FUNCTION keepbook_former_trades_never_change();
CREATE TRIGGER former_trades_never_vanish BEFORE DELETE ON former_trades
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER former_trades_never_truncated BEFORE TRUNCATE ON former_trades
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE former_trades ENABLE ROW LEVEL SECURITY;
ALTER TABLE former_trades FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON former_trades USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON former_trades TO keepbook_app;
ALTER TABLE trade_days ENABLE ROW LEVEL SECURITY;
ALTER TABLE trade_days FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON trade_days USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON trade_days TO keepbook_app;
CREATE FUNCTION keepbook_fills_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW."owner", NEW."deployment_id", NEW."key", NEW."symbol", NEW."side", NEW."time", NEW."quantity", NEW."price", NEW."multiplier", NEW."reason", NEW."load") IS NOT DISTINCT FROM (OLD."owner", OLD."deployment_id", OLD."key", OLD."symbol", OLD."side", OLD."time", OLD."quantity", OLD."price", OLD."multiplier", OLD."reason", OLD."load") THEN RETURN NEW; END IF;
  PERFORM keepbook_refuse('a row of fills is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER fills_never_change BEFORE UPDATE ON fills
  FOR EACH ROW EXECUTE FUNCTION keepbook_fills_never_change();
CREATE TRIGGER fills_never_truncated BEFORE TRUNCATE ON fills
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE fills ENABLE ROW LEVEL SECURITY;
ALTER TABLE fills FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON fills USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON fills TO keepbook_app;
GRANT UPDATE ("remaining", "fee") ON fills TO keepbook_app;
CREATE FUNCTION keepbook_splits_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of splits is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER splits_never_change BEFORE UPDATE ON splits
  FOR EACH ROW EXECUTE FUNCTION keepbook_splits_never_change();
ALTER TABLE splits ENABLE ROW LEVEL SECURITY;
ALTER TABLE splits FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON splits USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON splits TO keepbook_app;
CREATE FUNCTION keepbook_mappings_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of mappings is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER mappings_never_change BEFORE UPDATE ON mappings
  FOR EACH ROW EXECUTE FUNCTION keepbook_mappings_never_change();
ALTER TABLE mappings ENABLE ROW LEVEL SECURITY;
ALTER TABLE mappings FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON mappings USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON mappings TO keepbook_app;
CREATE FUNCTION keepbook_lessons_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW."owner", NEW."memory_id", NEW."version", NEW."finding", NEW."skill_id", NEW."deployment_id", NEW."known_at", NEW."window_from", NEW."window_until", NEW."trades", NEW."wins", NEW."mean", NEW."median", NEW."low", NEW."high", NEW."p", NEW."tried") IS NOT DISTINCT FROM (OLD."owner", OLD."memory_id", OLD."version", OLD."finding", OLD."skill_id", OLD."deployment_id", OLD."known_at", OLD."window_from", OLD."window_until", OLD."trades", OLD."wins", OLD."mean", OLD."median", OLD."low", OLD."high", OLD."p", OLD."tried") THEN RETURN NEW; END IF;
  PERFORM keepbook_refuse('a row of lessons is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER lessons_never_change BEFORE UPDATE ON lessons
  FOR EACH ROW EXECUTE FUNCTION keepbook_lessons_never_change();
CREATE TRIGGER lessons_never_vanish BEFORE DELETE ON lessons
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes('memory_id');
CREATE TRIGGER lessons_never_truncated BEFORE TRUNCATE ON lessons
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE lessons ENABLE ROW LEVEL SECURITY;
ALTER TABLE lessons FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON lessons USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON lessons TO keepbook_app;
GRANT UPDATE ("withdrawn_at") ON lessons TO keepbook_app;
CREATE TRIGGER covers_never_vanish BEFORE DELETE ON covers
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER covers_never_truncated BEFORE TRUNCATE ON covers
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE covers ENABLE ROW LEVEL SECURITY;
ALTER TABLE covers FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON covers USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON covers TO keepbook_app;
CREATE TRIGGER seals_never_vanish BEFORE DELETE ON seals
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER seals_never_truncated BEFORE TRUNCATE ON seals
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE seals ENABLE ROW LEVEL SECURITY;
ALTER TABLE seals FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON seals USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON seals TO keepbook_app;
GRANT UPDATE ("salt") ON seals TO keepbook_app;
CREATE FUNCTION keepbook_mends_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of mends is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER mends_never_change BEFORE UPDATE ON mends
  FOR EACH ROW EXECUTE FUNCTION keepbook_mends_never_change();
CREATE TRIGGER mends_never_vanish BEFORE DELETE ON mends
  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes();
CREATE TRIGGER mends_never_truncated BEFORE TRUNCATE ON mends
  EXECUTE FUNCTION keepbook_never_truncated();
ALTER TABLE mends ENABLE ROW LEVEL SECURITY;
ALTER TABLE mends FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON mends USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT ON mends TO keepbook_app;
CREATE FUNCTION keepbook_touched_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keepbook_refuse('a row of touched is never rewritten');
  RETURN NULL;
END $$;
CREATE TRIGGER touched_never_change BEFORE UPDATE ON touched
  FOR EACH ROW EXECUTE FUNCTION keepbook_touched_never_change();
ALTER TABLE touched ENABLE ROW LEVEL SECURITY;
ALTER TABLE touched FORCE ROW LEVEL SECURITY;
CREATE POLICY one_owner ON touched USING (owner = current_setting('keepbook.owner', true)) WITH CHECK (owner = current_setting('keepbook.owner', true));
GRANT SELECT, INSERT, DELETE ON touched TO keepbook_app;

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
         NEW.specialist, NEW.thread_id, NEW.created_at, NEW.made_at, NEW.key, NEW.link, NEW.prompt_version)
      IS NOT DISTINCT FROM
        (OLD.owner, OLD.id, OLD.agent_id, OLD.nature, OLD.prompt, OLD.card_type, OLD.parent_run, OLD.lead_run,
         OLD.specialist, OLD.thread_id, OLD.created_at, OLD.made_at, OLD.key, OLD.link, OLD.prompt_version)
  ) THEN PERFORM keepbook_refuse('the result of a run is never changed'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER runs_end_once BEFORE UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION keepbook_runs_end_once();

CREATE FUNCTION keepbook_transcripts_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.turn <> 1 + coalesce((SELECT max(turn) FROM transcripts WHERE owner = NEW.owner AND run_id = NEW.run_id), 0)
    OR NOT EXISTS (SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.run_id AND status IN ('queued', 'running'))
  THEN PERFORM keepbook_refuse('a transcript grows turn by turn, while its run lasts'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER transcripts_append BEFORE INSERT ON transcripts FOR EACH ROW EXECUTE FUNCTION keepbook_transcripts_append();

CREATE FUNCTION keepbook_decisions_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state <> 'open' OR NOT EXISTS (
    SELECT 1 FROM runs WHERE owner = NEW.owner AND id = NEW.run_id AND agent_id = NEW.agent_id
      AND card IS NOT NULL AND card_type = NEW.card_type AND nature <> 're-examination')
  THEN PERFORM keepbook_refuse('a decision begins open, with the card of a run'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER decisions_begin BEFORE INSERT ON decisions FOR EACH ROW EXECUTE FUNCTION keepbook_decisions_begin();

-- What the bars closed they may close otherwise, or open again, once what it said is kept as a former result; and whether
-- a forecast came true the person may answer anew; else closed is closed.
CREATE FUNCTION keepbook_decisions_close_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    (NEW.owner, NEW.run_id, NEW.agent_id, NEW.card_type, NEW.decided_at, NEW.action, NEW.symbol, NEW.entry, NEW.stop,
     NEW.target, NEW.conviction, NEW.expires, NEW.regime, NEW.probability, NEW.claim, NEW.recorded_at)
      IS NOT DISTINCT FROM
        (OLD.owner, OLD.run_id, OLD.agent_id, OLD.card_type, OLD.decided_at, OLD.action, OLD.symbol, OLD.entry, OLD.stop,
         OLD.target, OLD.conviction, OLD.expires, OLD.regime, OLD.probability, OLD.claim, OLD.recorded_at)
    AND (
      OLD.state = 'open'
      OR (OLD.closed_by = 'bars' AND (NEW.closed_by IS NOT DISTINCT FROM 'bars' OR NEW.state = 'open') AND EXISTS (
            SELECT 1 FROM former_results f WHERE f.owner = OLD.owner AND f.run_id = OLD.run_id
              AND (f.known_at, f.outcome) IS NOT DISTINCT FROM (OLD.known_at, OLD.outcome)))
      OR (OLD.outcome IN ('true', 'false', 'void') AND NEW.outcome IN ('true', 'false', 'void')
          AND NEW.closed_by = 'person'))
  ) THEN PERFORM keepbook_refuse('a decision keeps what it said, and is closed once'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER decisions_close_once BEFORE UPDATE ON decisions FOR EACH ROW EXECUTE FUNCTION keepbook_decisions_close_once();

CREATE FUNCTION keepbook_former_results_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.nth <> 1 + coalesce((SELECT max(nth) FROM former_results WHERE owner = NEW.owner AND run_id = NEW.run_id), 0)
    OR NOT EXISTS (
      SELECT 1 FROM decisions d WHERE d.owner = NEW.owner AND d.run_id = NEW.run_id AND d.state <> 'open'
        AND (d.known_at, d.state, d.outcome, d.closed_at, d.exit_price, d.result_r)
          IS NOT DISTINCT FROM (NEW.known_at, NEW.state, NEW.outcome, NEW.closed_at, NEW.exit_price, NEW.result_r))
  THEN PERFORM keepbook_refuse('a former result is what its decision said'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER former_results_append BEFORE INSERT ON former_results FOR EACH ROW EXECUTE FUNCTION keepbook_former_results_append();

-- What was brought in goes with its load, and an answer with the load that brought it.
CREATE FUNCTION keepbook_brought_forecasts_go_with_their_load() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT keepbook_erased(OLD.owner, '*')
    AND NOT EXISTS (SELECT 1 FROM loads WHERE owner = OLD.owner AND nth = OLD.load AND undone_at IS NOT NULL) THEN
    PERFORM keepbook_refuse('a forecast that was brought in goes with its load, or by an erasure');
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER brought_forecasts_never_vanish BEFORE DELETE ON brought_forecasts
  FOR EACH ROW EXECUTE FUNCTION keepbook_brought_forecasts_go_with_their_load();

CREATE FUNCTION keepbook_brought_forecasts_answered_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    (NEW.owner, NEW.agent_id, NEW.key, NEW.load, NEW.recorded_at, NEW.card_type, NEW.card, NEW.probability, NEW.claim,
     NEW.made_at, NEW.expires, NEW.model, NEW.prompt_version, NEW.link)
      IS NOT DISTINCT FROM
        (OLD.owner, OLD.agent_id, OLD.key, OLD.load, OLD.recorded_at, OLD.card_type, OLD.card, OLD.probability, OLD.claim,
         OLD.made_at, OLD.expires, OLD.model, OLD.prompt_version, OLD.link)
    AND (OLD.outcome IS NULL OR (NEW.outcome IS NULL AND EXISTS (
      SELECT 1 FROM loads WHERE owner = OLD.owner AND nth = OLD.answer_load AND undone_at IS NOT NULL)))
  ) THEN PERFORM keepbook_refuse('a forecast that was brought in is answered once'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER brought_forecasts_answered_once BEFORE UPDATE ON brought_forecasts
  FOR EACH ROW EXECUTE FUNCTION keepbook_brought_forecasts_answered_once();

-- Trading: what a skill said stays as it was said, version by version; what was traded and learnt goes only with the book.
CREATE FUNCTION keepbook_skill_fields_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.version <> 1 + coalesce((SELECT max(version) FROM skill_fields WHERE owner = NEW.owner AND skill_id = NEW.skill_id
                                    AND field = NEW.field), 0) THEN
    PERFORM keepbook_refuse('the versions of a field are numbered without gaps');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER skill_fields_append BEFORE INSERT ON skill_fields FOR EACH ROW EXECUTE FUNCTION keepbook_skill_fields_append();


CREATE FUNCTION keepbook_fills_go_with_their_load() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT keepbook_erased(OLD.owner, '*')
    AND NOT EXISTS (SELECT 1 FROM loads WHERE owner = OLD.owner AND nth = OLD.load AND undone_at IS NOT NULL) THEN
    PERFORM keepbook_refuse('a fill goes with its load, or by an erasure');
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER fills_never_vanish BEFORE DELETE ON fills FOR EACH ROW EXECUTE FUNCTION keepbook_fills_go_with_their_load();

-- In the order of the primary key and by nothing else: else all former trades may be looked through for each that goes.
CREATE FUNCTION keepbook_trades_go_once_former() RETURNS trigger LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  IF NOT keepbook_erased(OLD.owner, '*')
    AND (SELECT batch FROM former_trades WHERE owner = OLD.owner AND deployment_id = OLD.deployment_id
           AND exit_time = OLD.exit_time AND key = OLD.key AND batch = OLD.batch ORDER BY went LIMIT 1) IS NULL THEN
    PERFORM keepbook_refuse('a trade goes once it is kept as former, or by an erasure');
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER trades_never_vanish BEFORE DELETE ON trades FOR EACH ROW EXECUTE FUNCTION keepbook_trades_go_once_former();

CREATE FUNCTION keepbook_loads_are_of_a_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.deployment_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM deployments WHERE owner = NEW.owner AND id = NEW.deployment_id) THEN
    PERFORM keepbook_refuse('a load of trades has a deployment');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER loads_are_of_a_deployment BEFORE INSERT ON loads
  FOR EACH ROW EXECUTE FUNCTION keepbook_loads_are_of_a_deployment();

-- Names mean this schema's tables and nothing else: a temporary table of the same name would come first otherwise,
-- and a guard would look at that one. Whom to serve is said in every transaction and looks at no table.
DO $$
DECLARE a_function regprocedure;
BEGIN
  FOR a_function IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    AND proname LIKE 'keepbook\_%' AND proname <> 'keepbook_serve' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', a_function, current_schema());
  END LOOP;
END $$;

-- What is installed.
INSERT INTO extensions (name, nth, version, tables)
VALUES ('agents', 1, 1, '[{"name":"armed","columns":{"owner":"text","agent_id":"text","at":"text"},"key":["owner","agent_id"],"rules":{"unexported":"a mark of this installation","uncovered":"a mark of this installation","may_go":true}},{"name":"agents","columns":{"owner":"text","id":"text","name":"text","instructions":"text","default_prompt":"text","model":"text","adapter":"text","card_type":"text","schedule":"text","team":"text","use_block":"integer","memory_enabled":"integer","review_decisions":"integer","second_looks":"integer","run_seconds":"integer","run_tool_calls":"integer","run_tokens":"integer","thread_id":"text","created_at":"text","updated_at":"text","deleted_at":"text","session":"text","session_at":"text","fresh_at":"text","epoch":"integer","step":"integer","compressed":"text","compressed_through":"integer","turn_until":"text","turn_by":"text"},"key":["owner","id"],"rules":{"exported":"agent","ids":["id","thread_id"],"covered":true,"passing":["turn_until","turn_by"],"blanked":["compressed"],"blanked_where":"id IN (\n  SELECT r.agent_id FROM runs r JOIN injected i ON i.owner = r.owner AND i.session = r.id AND i.space = ''chat''\n  WHERE r.owner = NEW.owner AND i.memory_id = NEW.memory_id)"}},{"name":"runs","columns":{"owner":"text","id":"text","agent_id":"text","nature":"text","status":"text","prompt":"text","adapter":"text","model":"text","card_type":"text","card":"text","error":"text","error_code":"text","parent_run":"text","lead_run":"text","specialist":"text","thread_id":"text","session_before":"text","session_after":"text","epoch":"integer","step":"integer","tokens_in":"integer","tokens_out":"integer","created_at":"text","started_at":"text","finished_at":"text","made_at":"text","key":"text","link":"text","prompt_version":"text","retry_of":"text"},"key":["owner","id"],"rules":{"exported":"run","ids":["id","agent_id","parent_run","lead_run","thread_id","retry_of"],"covered":true,"may_change":["status","adapter","model","card","error","error_code","session_before","session_after","epoch","step","tokens_in","tokens_out","started_at","finished_at"],"begins":["status=running","card","error","error_code","session_after","epoch","step","finished_at"],"own":["insert","update"]}},{"name":"transcripts","columns":{"owner":"text","run_id":"text","turn":"integer","role":"text","text":"text","parts":"text","at":"text","tokens":"integer"},"key":["owner","run_id","turn"],"rules":{"exported":"line","ids":["run_id"],"covered":true,"may_change":[],"during":["runs","run_id"],"own":["insert"]}},{"name":"decisions","columns":{"owner":"text","run_id":"text","agent_id":"text","card_type":"text","decided_at":"text","action":"text","symbol":"text","entry":"number","stop":"number","target":"number","conviction":"number","expires":"text","regime":"text","probability":"number","claim":"text","event":"text","recorded_at":"text","state":"text","filled_at":"text","fill_price":"number","through":"text","last_close":"number","closed_at":"text","closed_by":"text","outcome":"text","exit_price":"number","result_r":"number","result_pct":"number","note":"text","came_to":"text","resolver":"text","settled_early":"text","gap":"text","known_at":"text"},"key":["owner","run_id"],"rules":{"exported":"decision","ids":["run_id","agent_id"],"covered":true,"may_change":["state","filled_at","fill_price","through","last_close","closed_at","closed_by","outcome","exit_price","result_r","result_pct","note","came_to","resolver","settled_early","gap","known_at"],"begins":["state=open","filled_at","fill_price","through","last_close","closed_at","closed_by","outcome","exit_price","result_r","result_pct","note","came_to","resolver","settled_early","gap","known_at"],"own":["insert","update"]}},{"name":"former_results","columns":{"owner":"text","run_id":"text","nth":"integer","known_at":"text","until":"text","state":"text","filled_at":"text","fill_price":"number","through":"text","last_close":"number","closed_at":"text","closed_by":"text","outcome":"text","exit_price":"number","result_r":"number","result_pct":"number","note":"text","came_to":"text","resolver":"text","settled_early":"text","gap":"text"},"key":["owner","run_id","nth"],"rules":{"exported":"former_result","ids":["run_id"],"covered":true,"may_change":[],"earlier_of":["decisions","run_id"],"own":["insert"]}},{"name":"brought_forecasts","columns":{"owner":"text","agent_id":"text","key":"text","load":"integer","recorded_at":"text","card_type":"text","card":"text","probability":"number","claim":"text","made_at":"text","expires":"text","model":"text","prompt_version":"text","link":"text","outcome":"text","came_to":"text","closed_at":"text","answered_at":"text","answer_load":"integer"},"key":["owner","agent_id","key"],"rules":{"exported":"brought_forecast","ids":["agent_id"],"covered":true,"may_change":["outcome","came_to","closed_at","answered_at","answer_load"],"may_go":true,"own":["delete","update"]}}]')
ON CONFLICT (name) DO UPDATE SET version = excluded.version, tables = excluded.tables;
INSERT INTO extensions (name, nth, version, tables)
VALUES ('trading', 2, 1, '[{"name":"batches","columns":{"nth":"integer","source":"text","link":"integer","what":"text","at":"text","came":"integer","went":"integer","spans":"text","digest":"text","previous":"text","hash":"text","settled":"integer"},"key":["nth"],"rules":{"may_change":["settled"]}},{"name":"bars","columns":{"symbol":"text","timeframe":"text","time":"text","open":"number","high":"number","low":"number","close":"number","volume":"number","batch":"integer"},"key":["symbol","timeframe","time"],"rules":{"may_go":true}},{"name":"former_bars","columns":{"symbol":"text","timeframe":"text","time":"text","open":"number","high":"number","low":"number","close":"number","volume":"number","batch":"integer","went":"integer","until":"text"},"key":["symbol","timeframe","time","went"],"rules":{"may_change":[]}},{"name":"market_events","columns":{"id":"text","kind":"text","time":"text","importance":"number","title":"text","symbols":"text","known_at":"text","batch":"integer"},"key":["id"],"rules":{}},{"name":"former_events","columns":{"id":"text","kind":"text","time":"text","importance":"number","title":"text","symbols":"text","known_at":"text","batch":"integer","went":"integer","until":"text"},"key":["id","went"],"rules":{"may_change":[]}},{"name":"event_symbols","columns":{"symbol":"text","kind":"text","time":"text","event_id":"text"},"key":["symbol","kind","time","event_id"],"rules":{"may_change":[],"may_go":true}},{"name":"skills","columns":{"owner":"text","id":"text","name":"text","description":"text","created_at":"text","ended_at":"text"},"key":["owner","id"],"rules":{"exported":"skill","ids":["id"],"covered":true}},{"name":"skill_fields","columns":{"owner":"text","skill_id":"text","field":"text","version":"integer","value":"text","recorded_at":"text","actor":"text","thread_id":"text"},"key":["owner","skill_id","field","version"],"rules":{"exported":"field","covered":true,"may_change":[],"own":["insert"]}},{"name":"deployments","columns":{"owner":"text","id":"text","skill_id":"text","name":"text","account":"text","capital":"number","currency":"text","started_at":"text","ended_at":"text","created_at":"text","removed_at":"text"},"key":["owner","id"],"rules":{"exported":"deployment","ids":["id","skill_id"],"covered":true}},{"name":"positions","columns":{"owner":"text","deployment_id":"text","symbol":"text","side":"text","entry_time":"text","known_at":"text","entry_price":"number","quantity":"number","closed_at":"text"},"key":["owner","deployment_id","symbol","side","entry_time","known_at"],"rules":{"exported":"position","covered":true,"bulk":true}},{"name":"trades","columns":{"owner":"text","deployment_id":"text","exit_time":"text","key":"text","symbol":"text","side":"text","quantity":"number","entry_time":"text","entry_price":"number","exit_price":"number","fees":"number","pnl":"number","mfe":"number","mae":"number","entry_regime_tag":"text","entry_reason":"text","exit_reason":"text","known_at":"text","batch":"integer"},"key":["owner","deployment_id","exit_time","key"],"rules":{"exported":"trade","uncovered":"sealed batch by batch","may_go":true,"bulk":true,"own":["delete"]}},{"name":"former_trades","columns":{"owner":"text","deployment_id":"text","exit_time":"text","key":"text","symbol":"text","side":"text","quantity":"number","entry_time":"text","entry_price":"number","exit_price":"number","fees":"number","pnl":"number","mfe":"number","mae":"number","entry_regime_tag":"text","entry_reason":"text","exit_reason":"text","known_at":"text","batch":"integer","went":"integer","until":"text"},"key":["owner","deployment_id","exit_time","key","went"],"rules":{"exported":"former_trade","uncovered":"sealed batch by batch","may_change":[],"bulk":true,"former_of":"trades"}},{"name":"trade_days","columns":{"owner":"text","deployment_id":"text","day":"text","trades":"integer","last":"text","known_at":"text","figures":"text","parts":"text"},"key":["owner","deployment_id","day"],"rules":{"unexported":"made anew on import","uncovered":"made anew from what is covered","may_go":true}},{"name":"fills","columns":{"owner":"text","deployment_id":"text","key":"text","symbol":"text","side":"text","time":"text","quantity":"number","price":"number","fee":"number","multiplier":"number","remaining":"text","reason":"text","load":"integer"},"key":["owner","deployment_id","key"],"rules":{"exported":"fill","covered":true,"may_change":["remaining","fee"],"may_go":true,"bulk":true,"own":["delete"]}},{"name":"splits","columns":{"owner":"text","symbol":"text","time":"text","ratio":"text","load":"integer"},"key":["owner","symbol","time"],"rules":{"exported":"split","covered":true,"may_change":[],"may_go":true}},{"name":"mappings","columns":{"owner":"text","name":"text","columns":"text"},"key":["owner","name"],"rules":{"exported":"mapping","covered":true,"may_change":[],"may_go":true}},{"name":"lessons","columns":{"owner":"text","memory_id":"text","version":"integer","finding":"text","skill_id":"text","deployment_id":"text","known_at":"text","window_from":"text","window_until":"text","trades":"integer","wins":"integer","mean":"number","median":"number","low":"number","high":"number","p":"number","tried":"integer","withdrawn_at":"text"},"key":["owner","memory_id","version"],"rules":{"exported":"lesson","covered":true,"may_change":["withdrawn_at"],"of_memory":"memory_id","guards_memory":"lesson","own":["insert"]}}]')
ON CONFLICT (name) DO UPDATE SET version = excluded.version, tables = excluded.tables;
