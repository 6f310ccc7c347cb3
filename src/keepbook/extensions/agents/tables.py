"""Tables of agents: who they are, what they were asked and said, and how their decisions turned out."""

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, Integer, PrimaryKeyConstraint, Table

from keepbook.storage.tables.declare import Number, Word, declare_table, one_of, owner_column, partial_index

# Which agents may run by themselves or start programs on this machine. A local mark: in no chain and in no export.
armed: Table = declare_table(
    "armed",
    owner_column(),
    Column("agent_id", Word, nullable=False),
    Column("at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "agent_id"),
    unexported="a mark of this installation",
    uncovered="a mark of this installation",
    may_go=True,
)

AGENTS_GIVEN_THE_MEMORY = """id IN (
  SELECT r.agent_id FROM runs r JOIN injected i ON i.owner = r.owner AND i.session = r.id AND i.space = 'chat'
  WHERE r.owner = NEW.owner AND i.memory_id = NEW.memory_id)"""
"""The agents of which a run was given the memory that is purged."""

# An agent of one owner. `session` is its one shared session, moved by each run that succeeds under Active Memory:
# `step` counts those, `epoch` counts fresh starts, so that a run that began before a reset moves nothing after it.
# `turn_until` is the lease of whoever has the session in hand. `compressed` stands for the steps through
# `compressed_through`.
agents: Table = declare_table(
    "agents",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("name", Word, CheckConstraint("length(name) BETWEEN 1 AND 80"), nullable=False),
    Column("instructions", Word, nullable=False),
    Column("default_prompt", Word, nullable=False),
    Column("model", Word),
    Column("adapter", Word, nullable=False),
    Column("card_type", Word, nullable=False),
    Column("schedule", Word),
    Column("team", Word, nullable=False, server_default="[]"),
    Column("use_block", Integer, CheckConstraint("use_block IN (0, 1)"), nullable=False),
    Column("memory_enabled", Integer, CheckConstraint("memory_enabled IN (0, 1)"), nullable=False),
    Column("review_decisions", Integer, CheckConstraint("review_decisions IN (0, 1)"), nullable=False),
    Column("second_looks", Integer, CheckConstraint("second_looks IN (0, 1)"), nullable=False, server_default="0"),
    Column("run_seconds", Integer, CheckConstraint("run_seconds > 0")),
    Column("run_tool_calls", Integer, CheckConstraint("run_tool_calls > 0")),
    Column("run_tokens", Integer, CheckConstraint("run_tokens > 0")),
    Column("thread_id", Word),
    Column("created_at", Word, nullable=False),
    Column("updated_at", Word, nullable=False),
    Column("deleted_at", Word),
    Column("session", Word),
    Column("session_at", Word),
    Column("fresh_at", Word),
    Column("epoch", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("compressed", Word),
    Column("compressed_through", Integer, nullable=False),
    Column("turn_until", Word),
    Column("turn_by", Word),
    PrimaryKeyConstraint("owner", "id"),
    exported="agent",
    ids=("id", "thread_id"),
    covered=True,
    passing=("turn_until", "turn_by"),
    blanked=("compressed",),
    blanked_where=AGENTS_GIVEN_THE_MEMORY,
)

RUNNING = (
    "status", "adapter", "model", "card", "error", "error_code", "session_before", "session_after", "epoch", "step",
    "tokens_in", "tokens_out", "started_at", "finished_at",
)  # fmt: skip
"""What of a run is written while it runs."""

# One execution of an agent, here or, where it was only recorded, elsewhere: `made_at` says when it was made, `key` is
# the name under which it was sent, `link` where more of it stands, `prompt_version` with which words it was asked. Once
# it has succeeded or failed its row never changes: not by its own agent, not by a re-examination (`parent_run` names
# the run it looks at again), not by a specialist (`lead_run` names its lead's run), not by the run that makes up for
# it (`retry_of` names the failed one).
runs: Table = declare_table(
    "runs",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("agent_id", Word, nullable=False),
    Column(
        "nature", Word, one_of("nature", "scheduled", "manual", "chat", "recorded", "re-examination"), nullable=False
    ),
    Column("status", Word, one_of("status", "queued", "running", "succeeded", "failed"), nullable=False),
    Column("prompt", Word, nullable=False),
    Column("adapter", Word),
    Column("model", Word),
    Column("card_type", Word),
    Column("card", Word),
    Column("error", Word),
    Column("error_code", Word),
    Column("parent_run", Word),
    Column("lead_run", Word),
    Column("specialist", Word),
    Column("thread_id", Word),
    Column("session_before", Word),
    Column("session_after", Word),
    Column("epoch", Integer),
    Column("step", Integer),
    Column("tokens_in", Integer, nullable=False),
    Column("tokens_out", Integer, nullable=False),
    Column("created_at", Word, nullable=False),
    Column("started_at", Word),
    Column("finished_at", Word),
    Column("made_at", Word),
    Column("key", Word, CheckConstraint("length(key) BETWEEN 1 AND 200")),
    Column("link", Word),
    Column("prompt_version", Word, CheckConstraint("length(prompt_version) BETWEEN 1 AND 80")),
    Column("retry_of", Word),
    PrimaryKeyConstraint("owner", "id"),
    ForeignKeyConstraint(["owner", "agent_id"], ["agents.owner", "agents.id"]),
    ForeignKeyConstraint(["owner", "parent_run"], ["runs.owner", "runs.id"]),
    ForeignKeyConstraint(["owner", "lead_run"], ["runs.owner", "runs.id"]),
    CheckConstraint(
        "(parent_run IS NOT NULL) = (nature = 're-examination' AND lead_run IS NULL)", name="looks_again_at_one_run"
    ),
    CheckConstraint("(specialist IS NOT NULL) = (lead_run IS NOT NULL)", name="a_specialist_has_a_lead"),
    CheckConstraint("(finished_at IS NOT NULL) = (status IN ('succeeded', 'failed'))", name="ended_when_done"),
    CheckConstraint("card IS NULL OR (card_type IS NOT NULL AND status = 'succeeded')", name="a_card_is_a_result"),
    CheckConstraint("(error IS NOT NULL) = (status = 'failed')", name="a_failure_says_why"),
    CheckConstraint("error_code IS NULL OR status = 'failed'", name="a_code_is_a_failures"),
    CheckConstraint("session_after IS NULL OR (step IS NOT NULL AND status = 'succeeded')", name="success_moves"),
    exported="run",
    ids=("id", "agent_id", "parent_run", "lead_run", "thread_id", "retry_of"),
    covered=True,
    may_change=RUNNING,
    begins=("status=running", "card", "error", "error_code", "session_after", "epoch", "step", "finished_at"),
    own=("insert", "update"),
)
Index("runs_by_agent", runs.c.owner, runs.c.agent_id, runs.c.created_at, runs.c.id)
Index("runs_by_creation", runs.c.owner, runs.c.created_at, runs.c.id)
_children = runs.c.parent_run.isnot(None)
partial_index("runs_by_parent", runs.c.owner, runs.c.parent_run, where=_children)
_led = runs.c.lead_run.isnot(None)
partial_index("runs_by_lead", runs.c.owner, runs.c.lead_run, where=_led)
_moved = runs.c.step.isnot(None)
partial_index("runs_by_step", runs.c.owner, runs.c.agent_id, runs.c.step, unique=True, where=_moved)
_keyed = runs.c.key.isnot(None)
partial_index("runs_by_key", runs.c.owner, runs.c.agent_id, runs.c.key, unique=True, where=_keyed)

# What was said in a run, as it was said. The memory block is not in it: that stands in `injections`, where a purge
# reaches it.
transcripts: Table = declare_table(
    "transcripts",
    owner_column(),
    Column("run_id", Word, nullable=False),
    Column("turn", Integer, CheckConstraint("turn >= 1"), nullable=False),
    Column("role", Word, one_of("role", "user", "assistant", "tool", "system"), nullable=False),
    Column("text", Word, nullable=False),
    Column("parts", Word),
    Column("at", Word, nullable=False),
    Column("tokens", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "run_id", "turn"),
    ForeignKeyConstraint(["owner", "run_id"], ["runs.owner", "runs.id"]),
    exported="line",
    ids=("run_id",),
    covered=True,
    may_change=(),
    during=("runs", "run_id"),
    own=("insert",),
)

RESULT = (
    "state", "filled_at", "fill_price", "through", "last_close", "closed_at", "closed_by", "outcome", "exit_price",
    "result_r", "result_pct", "note", "came_to", "resolver", "settled_early", "gap",
)  # fmt: skip
"""What the bars, or somebody, say of a decision; the rest is the card's."""

# How a run's card turned out. The first half is what the card said and never changes (`claim` is what it took to be so,
# with this `probability`, where it is a forecast; `event`: what it is about, where others are about the same;
# `recorded_at`: when it came in from outside); the second follows the bars, or somebody's word, and comes to rest when
# the decision is closed. `resolver` is the name of the program that told the end, `settled_early` the reason why it
# could be told before the date, `gap` a stretch of which there were no bars that could have told otherwise. Of several
# classes and of numbers `claim` is the likeliest class or the widest interval, and `came_to` which class or number it
# was.
decisions: Table = declare_table(
    "decisions",
    owner_column(),
    Column("run_id", Word, nullable=False),
    Column("agent_id", Word, nullable=False),
    Column("card_type", Word, nullable=False),
    Column("decided_at", Word, nullable=False),
    Column("action", Word),
    Column("symbol", Word),
    Column("entry", Number),
    Column("stop", Number),
    Column("target", Number),
    Column("conviction", Number),
    Column("expires", Word),
    Column("regime", Word),
    Column("probability", Number, CheckConstraint("probability BETWEEN 0 AND 1")),
    Column("claim", Word),
    Column("event", Word),
    Column("recorded_at", Word),
    Column("state", Word, one_of("state", "open", "resolved", "expired"), nullable=False),
    Column("filled_at", Word),
    Column("fill_price", Number),
    Column("through", Word),
    Column("last_close", Number),
    Column("closed_at", Word),
    Column("closed_by", Word, one_of("closed_by", "bars", "person", "agent", "resolver")),
    Column("outcome", Word, one_of("outcome", "target", "stop", "time", "exited", "expired", "true", "false", "void")),
    Column("exit_price", Number),
    Column("result_r", Number),
    Column("result_pct", Number),
    Column("note", Word),
    Column("came_to", Word),
    Column("resolver", Word),
    Column("settled_early", Word),
    Column("gap", Word),
    Column("known_at", Word),
    PrimaryKeyConstraint("owner", "run_id"),
    ForeignKeyConstraint(["owner", "run_id"], ["runs.owner", "runs.id"]),
    CheckConstraint("(state = 'open') = (closed_at IS NULL)", name="closed_when_not_open"),
    CheckConstraint("(closed_at IS NULL) = (closed_by IS NULL)", name="closed_by_somebody"),
    CheckConstraint("(closed_at IS NULL) = (outcome IS NULL)", name="closed_with_an_outcome"),
    CheckConstraint(
        "outcome IS NULL OR (outcome IN ('expired', 'void')) = (state = 'expired')", name="expired_is_an_outcome"
    ),
    exported="decision",
    ids=("run_id", "agent_id"),
    covered=True,
    may_change=(*RESULT, "known_at"),
    begins=("state=open", *(name for name in RESULT if name != "state"), "known_at"),
    own=("insert", "update"),
)
Index("decisions_by_state", decisions.c.owner, decisions.c.state, decisions.c.decided_at)
Index("decisions_by_agent", decisions.c.owner, decisions.c.agent_id, decisions.c.decided_at)

# How a decision had turned out as far as was known from `known_at` to `until`, when bars came late or were corrected.
former_results: Table = declare_table(
    "former_results",
    owner_column(),
    Column("run_id", Word, nullable=False),
    Column("nth", Integer, CheckConstraint("nth >= 1"), nullable=False),
    Column("known_at", Word, nullable=False),
    Column("until", Word, nullable=False),
    *(Column(name, decisions.c[name].type) for name in RESULT),
    PrimaryKeyConstraint("owner", "run_id", "nth"),
    ForeignKeyConstraint(["owner", "run_id"], ["decisions.owner", "decisions.run_id"]),
    exported="former_result",
    ids=("run_id",),
    covered=True,
    may_change=(),
    earlier_of=("decisions", "run_id"),
    own=("insert",),
)

# What was forecast elsewhere and brought in afterwards, with its own dates: a record of its own, not witnessed here. A
# row goes with its load; an answer that a later load brought, `answer_load`, goes with that one.
brought_forecasts: Table = declare_table(
    "brought_forecasts",
    owner_column(),
    Column("agent_id", Word, nullable=False),
    Column("key", Word, CheckConstraint("length(key) BETWEEN 1 AND 200"), nullable=False),
    Column("load", Integer, nullable=False),
    Column("recorded_at", Word, nullable=False),
    Column("card_type", Word, nullable=False),
    Column("card", Word, nullable=False),
    Column("probability", Number, CheckConstraint("probability BETWEEN 0 AND 1"), nullable=False),
    Column("claim", Word),
    Column("made_at", Word, nullable=False),
    Column("expires", Word, nullable=False),
    Column("model", Word),
    Column("prompt_version", Word, CheckConstraint("length(prompt_version) BETWEEN 1 AND 80")),
    Column("link", Word),
    Column("outcome", Word, one_of("outcome", "true", "false", "void")),
    Column("came_to", Word),
    Column("closed_at", Word),
    Column("answered_at", Word),
    Column("answer_load", Integer),
    PrimaryKeyConstraint("owner", "agent_id", "key"),
    ForeignKeyConstraint(["owner", "agent_id"], ["agents.owner", "agents.id"]),
    CheckConstraint("(outcome IS NULL) = (closed_at IS NULL)", name="brought_with_its_date"),
    CheckConstraint("(outcome IS NULL) = (answer_load IS NULL)", name="brought_by_a_load"),
    CheckConstraint("(outcome IS NULL) = (answered_at IS NULL)", name="brought_at_an_instant"),
    exported="brought_forecast",
    ids=("agent_id",),
    covered=True,
    may_change=("outcome", "came_to", "closed_at", "answered_at", "answer_load"),
    may_go=True,
    own=("delete", "update"),
)
Index("brought_forecasts_by_load", brought_forecasts.c.owner, brought_forecasts.c.load)
