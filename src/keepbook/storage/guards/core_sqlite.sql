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
  THEN NOT (<<words are null in NEW>>)
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
        AND <<said is equal in r and NEW>>))
BEGIN SELECT RAISE(ABORT, 'guard: automation may not overrule a person'); END;

CREATE TRIGGER versions_read_by_software_are_inferred BEFORE INSERT ON versions
WHEN NEW.version = 1 AND NEW.content IS NOT NULL AND NEW.source IN ('extracted', 'inferred')
  AND (SELECT confidence FROM memories WHERE owner = NEW.owner AND id = NEW.memory_id) <> 'inferred'
BEGIN SELECT RAISE(ABORT, 'guard: what software read is inferred until a person promotes it'); END;

CREATE TRIGGER versions_never_change BEFORE UPDATE ON versions
WHEN NOT (
  <<rest is equal in NEW and OLD>>
  AND (
    (<<words are equal in NEW and OLD>>
     AND OLD.retired_at IS NULL AND NEW.retired_at IS NOT NULL
     AND EXISTS (SELECT 1 FROM versions WHERE owner = OLD.owner AND memory_id = OLD.memory_id
                   AND version = OLD.version + 1 AND recorded_at = NEW.retired_at))
    OR (<<words are null in NEW>>
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
  UPDATE versions SET <<words become null>>
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
--: purge
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
--: erase
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
