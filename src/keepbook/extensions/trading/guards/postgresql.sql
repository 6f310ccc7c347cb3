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
