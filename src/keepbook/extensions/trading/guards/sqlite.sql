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
