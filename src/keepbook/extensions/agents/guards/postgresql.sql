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
