/** A real program of the Vercel AI SDK, with a model that is scripted, against a real server. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { memoryBlock, memoryTools } from "../src/ai.js";
import { Keepbook } from "../src/index.js";

const open = (owner: string, by: "person" | "agent") =>
  new Keepbook(process.env["KEEPBOOK_ADDRESS"] ?? "", { token: process.env["KEEPBOOK_TOKEN"] ?? "", owner, by });
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never;
const calls = (toolName: string, input: object) => ({ type: "tool-call", toolCallId: toolName, toolName, input: JSON.stringify(input) });

test("an agent of the AI SDK keeps what it is told, and a wrong call is answered in words", async () => {
  const person = open("ida", "person");
  const agent = open("ida", "agent");
  await person.call("remember", { body: { content: "Prefers short answers" } });
  const script = [
    calls("remember", { content: "Is allergic to peanuts" }),
    calls("forget", { memory: "nothing like it" }),
    { type: "text", text: "I will keep that in mind." },
  ];
  const asked: unknown[] = [];
  const model = new MockLanguageModelV3({
    doGenerate: async (options) => {
      asked.push(options.prompt);
      const content = [script[asked.length - 1]] as never;
      const unified = asked.length < script.length ? "tool-calls" : "stop";
      return { content, finishReason: { unified, raw: undefined } as never, usage, warnings: [] };
    },
  });
  const told = await generateText({
    model,
    system: await memoryBlock(agent, "chat-1"),
    tools: await memoryTools(agent, { preset: "general", session: "chat-1" }),
    prompt: "I am allergic to peanuts.",
    stopWhen: stepCountIs(5),
  });
  assert.equal(told.text, "I will keep that in mind.");
  assert.match(JSON.stringify(asked[0]), /Prefers short answers/);
  assert.match(JSON.stringify(asked[2]), /list_memories/);
  const { memories } = await person.call("list_memories");
  const kept = memories.at(-1);
  assert.deepEqual([kept?.content, kept?.source, kept?.thread_id], ["Is allergic to peanuts", "chat", "chat-1"]);
  const saved = told.steps[0]?.toolResults[0]?.output as { memory_event: { event: number } };
  await person.call("undo_event", { path: { event: saved.memory_event.event } });
  assert.equal((await person.call("list_memories")).total, 1);
});
