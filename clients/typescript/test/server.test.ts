/** Against a real server: KEEPBOOK_ADDRESS and KEEPBOOK_TOKEN say which (scripts/typescript.py starts one). */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Keepbook, KeepbookError, type Schemas } from "../src/index.js";

const address = process.env["KEEPBOOK_ADDRESS"] ?? "";
const token = process.env["KEEPBOOK_TOKEN"] ?? "";
const opened = (owner: string, more = {}) => new Keepbook(address, { token, owner, ...more });

test("memories are kept, filtered, changed and forgotten", async () => {
  const book = opened("björn");
  const made: Schemas["Written"] = await book.call("remember", {
    body: { content: "Lives in Oslo", tags: ["home"], metadata: { source: "crm & mail" } },
  });
  assert.equal(made.content, "Lives in Oslo");
  assert.deepEqual([made.tags, made.metadata], [["home"], { source: "crm & mail" }]);
  await book.call("remember", { body: { content: "Likes tea" } });

  const page = await book.call("list_memories", { query: { tag: ["home"], metadata: { source: "crm & mail" } } });
  assert.deepEqual([page.total, page.memories[0]?.id], [1, made.id]);
  const hits = await book.call("recall_memories", { query: { q: "where does he live in Oslo?", tag: ["home"] } });
  assert.equal(hits.memories[0]?.id, made.id);

  const changed = await book.call("update_memory", { path: { id: made.id }, body: { content: "Lives in Bergen / Åsane" } });
  assert.deepEqual([changed.version, changed.tags], [2, ["home"]]);
  const whole = await book.call("get_memory", { path: { id: made.id } });
  assert.equal(whole.versions.length, 2);
  assert.equal((await book.call("forget_memory", { path: { id: made.id } })).state, "archived");
  assert.equal((await book.call("verify_ledger")).ok, true);
  assert.equal(await book.call("delete_memory", { path: { id: made.id }, query: { forever: true } }), undefined);
});

test("refusals are errors with a code", async () => {
  const book = opened("carla");
  await assert.rejects(book.call("remember", { body: { content: "abc" } }), (error: KeepbookError) => {
    assert.ok(error instanceof KeepbookError);
    assert.deepEqual([error.kind, error.code, error.field, error.status], ["Invalid", "invalid", "content", 422]);
    return true;
  });
  await book.call("remember", { body: { content: "Prefers index funds" } });
  await book.call("remember", { body: { content: "Avoids hedge funds" } });
  await assert.rejects(book.call("find_memory", { query: { ref: "funds" } }), (error: KeepbookError) => {
    assert.equal(error.kind, "Ambiguous");
    assert.equal((error.details["candidates"] as unknown[]).length, 2);
    return true;
  });
  await assert.rejects(new Keepbook(address, { token: "kb_wrong" }).call("get_me"), { code: "unauthenticated" });
  assert.throws(() => new Keepbook("http://example.org"), { code: "insecure" });
});

test("an agent never overrules the person", async () => {
  const mine = await opened("dora").call("remember", { body: { content: "Lives in Oslo" } });
  const agent = opened("dora", { by: "agent" });
  const wanted = agent.call("update_memory", { path: { id: mine.id }, body: { content: "Lives in Rome" } });
  await assert.rejects(wanted, { code: "persons_word", kind: "NotAllowed" });
  assert.equal((await opened("dora").call("list_proposals")).proposals.length, 1);
});

test("a reply comes in pieces and the feed tells what changed", async () => {
  const book = opened("emil");
  const chat = await book.call("start_chat", { body: {} });
  const events: string[] = [];
  let said = "";
  for await (const piece of book.say(chat.id, "I have two dogs called Bo and Kit")) {
    events.push(piece.event);
    if (piece.event === "text") said += piece.text;
    if (piece.event === "kept") assert.equal(piece.message.text, said);
  }
  assert.equal(events.at(-1), "kept");
  await assert.rejects(book.say(chat.id, " ").next(), { kind: "Invalid", field: "text" });

  await book.call("remember", { body: { content: "Likes tea" } });
  for await (const change of book.follow()) {
    assert.equal(change.action, "remember");
    break;
  }
});

test("a book is exported and imported as lines", async () => {
  const book = opened("fritz");
  await book.call("remember", { body: { content: "Likes tea" } });
  const lines: string = await book.call("export_book");
  assert.ok(lines.startsWith('{"format"'));
  const taken = await opened("gerda").call("import_book", { body: lines });
  assert.equal(taken.memories, 1);
});

test("a write is sent again under one key when the server is away", async () => {
  const keys: (string | null)[] = [];
  const fails = async (url: string | URL | Request, sent?: RequestInit): Promise<Response> => {
    keys.push(new Headers(sent?.headers).get("idempotency-key"));
    if (keys.length === 1) throw new Error("connection reset");
    if (keys.length === 2) return new Response("<h1>Bad gateway</h1>", { status: 502 });
    return fetch(url, sent);
  };
  const made = await opened("hanna", { fetch: fails }).call("remember", { body: { content: "Likes tea" } });
  assert.equal(made.unchanged, false);
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
});
