-- The guards of the book, as triggers. What raw SQL must not do either, the database refuses here.
-- Every change of a memory names, in `event`, the ledger entry that accounts for it.
-- INSERT OR REPLACE deletes without firing delete triggers, so inserts check for a row in the way themselves; and
-- foreign keys are asleep on a connection that did not wake them, so triggers look at the other end too.

-- The chain: entries and covers are its links, numbered without gaps, each on the one before it, of either kind.
CREATE TRIGGER ledger_appends BEFORE INSERT ON ledger
WHEN NEW.seq <> 1 + coalesce((SELECT max(seq) FROM ledger WHERE owner = NEW.owner), 0)
  OR NEW.at <= coalesce((SELECT at FROM ledger WHERE owner = NEW.owner AND seq = NEW.seq - 1), '')
  OR NEW.link <> 1 + max(coalesce((SELECT link FROM ledger WHERE owner = NEW.owner ORDER BY seq DESC LIMIT 1), 0),
                         coalesce((SELECT max(link) FROM covers WHERE owner = NEW.owner), 0))
  OR NEW.previous <> coalesce((SELECT hash FROM covers WHERE owner = NEW.owner AND link = NEW.link - 1),
                              (SELECT hash FROM ledger WHERE owner = NEW.owner AND seq = NEW.seq - 1), '')
BEGIN SELECT RAISE(ABORT, 'guard: a ledger entry follows the one before it, in number, hash and time'); END;

CREATE TRIGGER covers_append BEFORE INSERT ON covers
WHEN NEW.link <> 1 + max(coalesce((SELECT link FROM ledger WHERE owner = NEW.owner ORDER BY seq DESC LIMIT 1), 0),
                         coalesce((SELECT max(link) FROM covers WHERE owner = NEW.owner), 0))
  OR NEW.previous <> coalesce((SELECT hash FROM covers WHERE owner = NEW.owner AND link = NEW.link - 1),
                              (SELECT hash FROM ledger WHERE owner = NEW.owner ORDER BY seq DESC LIMIT 1), '')
  OR NEW.first <> 1 + coalesce((SELECT last FROM covers WHERE owner = NEW.owner ORDER BY link DESC LIMIT 1), 0)
  OR NEW.last < NEW.first
BEGIN SELECT RAISE(ABORT, 'guard: a cover follows the link before it, in number and hash'); END;

CREATE TRIGGER covers_never_change BEFORE UPDATE ON covers
BEGIN SELECT RAISE(ABORT, 'guard: the ledger is append-only'); END;

CREATE TRIGGER covers_never_vanish BEFORE DELETE ON covers
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: the ledger is append-only'); END;

-- Seals: numbered without gaps; only the salt may go, once the row is in another state.
CREATE TRIGGER seals_append BEFORE INSERT ON seals
WHEN NEW.nth <> 1 + coalesce((SELECT max(nth) FROM seals WHERE owner = NEW.owner), 0)
BEGIN SELECT RAISE(ABORT, 'guard: seals are numbered without gaps'); END;

CREATE TRIGGER seals_never_change BEFORE UPDATE ON seals
WHEN NOT (
  NEW.salt IS NULL AND NEW.owner = OLD.owner AND NEW.nth = OLD.nth AND NEW.what = OLD.what AND NEW.key = OLD.key
  AND NEW.was IS OLD.was AND NEW.digest IS OLD.digest
  AND EXISTS (SELECT 1 FROM seals WHERE owner = OLD.owner AND what = OLD.what AND key = OLD.key AND was = OLD.nth)
)
BEGIN SELECT RAISE(ABORT, 'guard: a seal is never rewritten'); END;

CREATE TRIGGER seals_never_vanish BEFORE DELETE ON seals
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: a seal is never taken off'); END;

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

CREATE TRIGGER ledger_never_shrinks BEFORE DELETE ON ledger
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
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

CREATE TRIGGER memories_never_vanish BEFORE DELETE ON memories
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: a memory is forgotten or erased, never deleted'); END;

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
  THEN NEW.content IS NOT NULL OR NEW.summary IS NOT NULL OR NEW.body IS NOT NULL
    OR NEW.metadata IS NOT NULL OR NEW.tags IS NOT NULL OR NEW.spans IS NOT NULL
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
        AND r.content = NEW.content AND r.summary IS NEW.summary AND r.body IS NEW.body
        AND r.metadata IS NEW.metadata AND r.tags IS NEW.tags
        AND r.source = NEW.source AND r.score IS NEW.score AND r.made_by IS NEW.made_by
        AND r.thread_id IS NEW.thread_id AND r.turn_ids = NEW.turn_ids
        AND r.valid_from = NEW.valid_from AND r.valid_until IS NEW.valid_until
        AND r.quoted = NEW.quoted AND r.spans IS NEW.spans AND r.said_on IS NEW.said_on))
BEGIN SELECT RAISE(ABORT, 'guard: automation may not overrule a person'); END;

CREATE TRIGGER versions_read_by_software_are_inferred BEFORE INSERT ON versions
WHEN NEW.version = 1 AND NEW.content IS NOT NULL AND NEW.source IN ('extracted', 'inferred')
  AND (SELECT confidence FROM memories WHERE owner = NEW.owner AND id = NEW.memory_id) <> 'inferred'
BEGIN SELECT RAISE(ABORT, 'guard: what software read is inferred until a person promotes it'); END;

CREATE TRIGGER versions_never_change BEFORE UPDATE ON versions
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.memory_id = OLD.memory_id AND NEW.version = OLD.version
  AND NEW.source = OLD.source AND NEW.score IS OLD.score AND NEW.made_by IS OLD.made_by
  AND NEW.thread_id IS OLD.thread_id AND NEW.turn_ids = OLD.turn_ids
  AND NEW.valid_from = OLD.valid_from AND NEW.valid_until IS OLD.valid_until
  AND NEW.recorded_at = OLD.recorded_at AND NEW.restored_from IS OLD.restored_from
  AND NEW.correction = OLD.correction AND NEW.event = OLD.event
  AND NEW.quoted = OLD.quoted AND NEW.said_on IS OLD.said_on
  AND (
    (NEW.content IS OLD.content
     AND NEW.summary IS OLD.summary AND NEW.body IS OLD.body
     AND NEW.metadata IS OLD.metadata AND NEW.tags IS OLD.tags AND NEW.spans IS OLD.spans
     AND OLD.retired_at IS NULL AND NEW.retired_at IS NOT NULL
     AND EXISTS (SELECT 1 FROM versions WHERE owner = OLD.owner AND memory_id = OLD.memory_id
                   AND version = OLD.version + 1 AND recorded_at = NEW.retired_at))
    OR (NEW.content IS NULL AND NEW.summary IS NULL AND NEW.body IS NULL
        AND NEW.metadata IS NULL AND NEW.tags IS NULL AND NEW.spans IS NULL
        AND NEW.retired_at IS OLD.retired_at
        AND EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = OLD.memory_id))
  )
)
BEGIN SELECT RAISE(ABORT, 'guard: a version is never rewritten'); END;

CREATE TRIGGER versions_never_vanish BEFORE DELETE ON versions
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: a version is never deleted'); END;

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
    OR (NEW.block IS NULL AND NEW.at = OLD.at AND NEW.seq = OLD.seq AND NEW.nth = OLD.nth AND EXISTS (
      SELECT 1 FROM injected i JOIN erasures e ON e.owner = i.owner AND e.memory_id = i.memory_id
      WHERE i.owner = OLD.owner AND i.space = OLD.space AND i.session = OLD.session AND e.event > OLD.seq))
  )
)
BEGIN SELECT RAISE(ABORT, 'guard: an injection is never rewritten'); END;

CREATE TRIGGER injections_happen_once BEFORE INSERT ON injections
WHEN EXISTS (SELECT 1 FROM injections WHERE owner = NEW.owner AND space = NEW.space AND session = NEW.session)
BEGIN SELECT RAISE(ABORT, 'guard: an injection is never rewritten'); END;

CREATE TRIGGER injections_never_vanish BEFORE DELETE ON injections
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: injections are append-only'); END;

CREATE TRIGGER injected_follow_each_other BEFORE INSERT ON injected
WHEN NEW.nth <> 1 + coalesce((SELECT max(nth) FROM injected WHERE owner = NEW.owner AND memory_id = NEW.memory_id), 0)
  OR NOT EXISTS (SELECT 1 FROM memories WHERE owner = NEW.owner AND id = NEW.memory_id)
BEGIN SELECT RAISE(ABORT, 'guard: injections are counted without gaps'); END;

CREATE TRIGGER injected_never_changes BEFORE UPDATE ON injected
BEGIN SELECT RAISE(ABORT, 'guard: injections are append-only'); END;

CREATE TRIGGER injected_never_vanishes BEFORE DELETE ON injected
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: injections are append-only'); END;

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

CREATE TRIGGER erasures_never_vanish BEFORE DELETE ON erasures
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
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
  UPDATE agents SET compressed = NULL
    WHERE owner = NEW.owner AND compressed IS NOT NULL AND id IN (
      SELECT r.agent_id FROM runs r JOIN injected i ON i.owner = r.owner AND i.session = r.id AND i.space = 'chat'
      WHERE r.owner = NEW.owner AND i.memory_id = NEW.memory_id);
  DELETE FROM proposals WHERE owner = NEW.owner AND (memory_id = NEW.memory_id OR instr(choices, NEW.memory_id) > 0);
  DELETE FROM answers WHERE owner = NEW.owner;
  DELETE FROM lessons WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  DELETE FROM links WHERE owner = NEW.owner AND (from_id = NEW.memory_id OR to_id = NEW.memory_id);
  DELETE FROM terms WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  DELETE FROM likeness WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
  DELETE FROM labels WHERE owner = NEW.owner AND memory_id = NEW.memory_id;
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
  DELETE FROM lessons WHERE owner = NEW.owner;
  DELETE FROM armed WHERE owner = NEW.owner;
  DELETE FROM mappings WHERE owner = NEW.owner;
  DELETE FROM loads WHERE owner = NEW.owner;
  DELETE FROM fills WHERE owner = NEW.owner;
  DELETE FROM trade_days WHERE owner = NEW.owner;
  DELETE FROM former_trades WHERE owner = NEW.owner;
  DELETE FROM trades WHERE owner = NEW.owner;
  DELETE FROM positions WHERE owner = NEW.owner;
  DELETE FROM deployments WHERE owner = NEW.owner;
  DELETE FROM skill_fields WHERE owner = NEW.owner;
  DELETE FROM skills WHERE owner = NEW.owner;
  DELETE FROM former_results WHERE owner = NEW.owner;
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
  DELETE FROM labels WHERE owner = NEW.owner;
  DELETE FROM injected WHERE owner = NEW.owner;
  DELETE FROM injections WHERE owner = NEW.owner;
  DELETE FROM links WHERE owner = NEW.owner;
  DELETE FROM versions WHERE owner = NEW.owner;
  DELETE FROM memories WHERE owner = NEW.owner;
  DELETE FROM ledger WHERE owner = NEW.owner;
  DELETE FROM covers WHERE owner = NEW.owner;
  DELETE FROM seals WHERE owner = NEW.owner;
  DELETE FROM erasures WHERE owner = NEW.owner AND memory_id <> '*';
  DELETE FROM erasures WHERE owner = NEW.owner;
  DELETE FROM touched WHERE owner = NEW.owner;
END;

-- Chats: what was said is kept as it was said, until the whole chat goes.
CREATE TRIGGER messages_never_change BEFORE UPDATE ON messages
BEGIN SELECT RAISE(ABORT, 'guard: what was said in a chat is never rewritten'); END;

CREATE TRIGGER messages_follow_each_other BEFORE INSERT ON messages
WHEN NEW.turn <> 1 + coalesce((SELECT max(turn) FROM messages WHERE owner = NEW.owner AND thread_id = NEW.thread_id), 0)
BEGIN SELECT RAISE(ABORT, 'guard: the turns of a chat are numbered without gaps'); END;

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

CREATE TRIGGER former_results_never_change BEFORE UPDATE ON former_results
BEGIN SELECT RAISE(ABORT, 'guard: a former result is never rewritten'); END;

CREATE TRIGGER former_results_never_vanish BEFORE DELETE ON former_results
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from former_results but by an erasure'); END;

CREATE TRIGGER decisions_never_vanish BEFORE DELETE ON decisions
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from decisions but by an erasure'); END;

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

-- An execution keeps what it told, a batch what came with it: what is still open of the one, and whether the other is
-- settled, may change.
CREATE TRIGGER fills_stay BEFORE UPDATE ON fills
WHEN NOT (
  NEW.owner = OLD.owner AND NEW.deployment_id = OLD.deployment_id AND NEW.key = OLD.key AND NEW.symbol = OLD.symbol
  AND NEW.side = OLD.side AND NEW.time = OLD.time AND NEW.quantity = OLD.quantity AND NEW.price = OLD.price
  AND NEW.multiplier = OLD.multiplier
)
BEGIN SELECT RAISE(ABORT, 'guard: an execution is never rewritten'); END;

CREATE TRIGGER batches_stay BEFORE UPDATE ON batches
WHEN NOT (
  NEW.nth = OLD.nth AND NEW.source = OLD.source AND NEW.link = OLD.link AND NEW.what = OLD.what AND NEW.at = OLD.at
  AND NEW.came = OLD.came AND NEW.went = OLD.went AND NEW.spans = OLD.spans AND NEW.digest = OLD.digest
  AND NEW.previous = OLD.previous AND NEW.hash = OLD.hash
)
BEGIN SELECT RAISE(ABORT, 'guard: a batch is never rewritten'); END;

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

CREATE TRIGGER loads_never_vanish BEFORE DELETE ON loads
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from loads but by an erasure'); END;

CREATE TRIGGER loads_are_not_replaced BEFORE INSERT ON loads
WHEN EXISTS (SELECT 1 FROM loads WHERE owner = NEW.owner AND nth = NEW.nth)
BEGIN SELECT RAISE(ABORT, 'guard: a load is taken back, never rewritten'); END;

CREATE TRIGGER loads_are_taken_back_once BEFORE UPDATE ON loads
WHEN NOT (
  OLD.undone_at IS NULL AND NEW.undone_at IS NOT NULL AND NEW.gone IS NOT NULL AND NEW.owner = OLD.owner
  AND NEW.nth = OLD.nth AND NEW.at = OLD.at AND NEW.actor = OLD.actor AND NEW.what = OLD.what
  AND NEW.title = OLD.title AND NEW.deployment_id IS OLD.deployment_id AND NEW.trades = OLD.trades
  AND NEW.fills = OLD.fills AND NEW.brought = OLD.brought AND NEW.before = OLD.before AND NEW.told = OLD.told
)
BEGIN SELECT RAISE(ABORT, 'guard: a load is taken back, never rewritten'); END;

CREATE TRIGGER fills_never_vanish BEFORE DELETE ON fills
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
  AND NOT EXISTS (SELECT 1 FROM loads WHERE owner = OLD.owner AND nth = OLD.load AND undone_at IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'guard: a fill goes with its load, or by an erasure'); END;

CREATE TRIGGER former_trades_never_change BEFORE UPDATE ON former_trades
BEGIN SELECT RAISE(ABORT, 'guard: a former trade is never rewritten'); END;

CREATE TRIGGER former_trades_never_vanish BEFORE DELETE ON former_trades
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
BEGIN SELECT RAISE(ABORT, 'guard: nothing is deleted from former_trades but by an erasure'); END;

CREATE TRIGGER trades_never_vanish BEFORE DELETE ON trades
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id = '*')
  AND NOT EXISTS (SELECT 1 FROM former_trades WHERE owner = OLD.owner AND deployment_id = OLD.deployment_id
                    AND exit_time = OLD.exit_time AND key = OLD.key AND batch = OLD.batch)
BEGIN SELECT RAISE(ABORT, 'guard: a trade goes once it is kept as former, or by an erasure'); END;
