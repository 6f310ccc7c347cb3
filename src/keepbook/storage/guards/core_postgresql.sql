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
    IF NOT (<<words are null in NEW>>) OR NEW.version > book.version THEN
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
        AND <<said is equal in r and NEW>>))
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
    <<rest is equal in NEW and OLD>>
    AND (
      (<<words are equal in NEW and OLD>>
       AND OLD.retired_at IS NULL AND NEW.retired_at IS NOT NULL
       AND EXISTS (SELECT 1 FROM versions WHERE owner = OLD.owner AND memory_id = OLD.memory_id
                     AND version = OLD.version + 1 AND recorded_at = NEW.retired_at))
      OR (<<words are null in NEW>>
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
    DELETE FROM proposals WHERE owner = NEW.owner AND (memory_id = NEW.memory_id OR strpos(choices, NEW.memory_id) > 0);
    DELETE FROM answers WHERE owner = NEW.owner;
--: purge
    DELETE FROM links WHERE owner = NEW.owner AND (from_id = NEW.memory_id OR to_id = NEW.memory_id);
    UPDATE vector_spaces SET removed = removed + 1 WHERE owner = NEW.owner AND EXISTS (
      SELECT 1 FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id);
    DELETE FROM vectors WHERE owner = NEW.owner AND kind = 'memory' AND item = NEW.memory_id;
    UPDATE memories SET subject = NULL, subject_key = NULL, category = NULL, scope = NULL, purged_at = NEW.at
      WHERE owner = NEW.owner AND id = NEW.memory_id AND purged_at IS NULL;
  ELSE
--: erase
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
