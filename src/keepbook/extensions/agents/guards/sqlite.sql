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
