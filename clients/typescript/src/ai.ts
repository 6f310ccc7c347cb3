/**
 * A book in a program of the Vercel AI SDK: the tools of a preset, and the block for the system prompt.
 *
 *     const tools = await memoryTools(book, { session: "chat-42" });
 *     const told = await generateText({ model, system: await memoryBlock(book, "chat-42"), tools, prompt });
 *
 * What a model got wrong is answered in words, and never ends a run.
 */

import { jsonSchema, tool, type JSONSchema7, type ToolSet } from "ai";

import type { Keepbook } from "./index.js";

/** What a call of a tool answers: words for the model, and for the program what was written, with what undoes it. */
export interface Told {
  text: string;
  memory_event?: Record<string, unknown> | null;
  error?: string | null;
}

export interface Choices {
  /** Another preset's tools than the owner's. */
  preset?: string;
  /** What writes are noted with. */
  session?: string;
}

interface Definition {
  function: { name: string; description: string; parameters: JSONSchema7 };
}

/** A preset's tools over one owner's book, as the SDK takes them. */
export async function memoryTools(book: Keepbook, { preset, session }: Choices = {}): Promise<ToolSet> {
  const query = { outside: false, ...(preset ? { preset } : {}), ...(session ? { thread_id: session } : {}) };
  const defined = (await book.call("list_tools", { query: { ...query, format: "openai" } })) as unknown as Definition[];
  const made = defined.map(({ function: { name, description, parameters } }) => [
    name,
    tool<Record<string, unknown>, Told>({
      description,
      inputSchema: jsonSchema<Record<string, unknown>>(parameters),
      execute: async (given: Record<string, unknown>): Promise<Told> => {
        const { text, memory_event, error } = await book.call("call_tool", { path: { name }, query, body: given });
        return { text, memory_event: memory_event ?? null, error: error ?? null } as Told;
      },
      toModelOutput: ({ output }: { output: Told }) => ({ type: "text", value: output.text }),
    }),
  ]);
  return Object.fromEntries(made) as ToolSet;
}

/** The block of a session for the system prompt: rendered once, then the same bytes. */
export async function memoryBlock(book: Keepbook, session: string, preset?: string): Promise<string> {
  return (await book.call("inject_block", { body: { session, ...(preset ? { preset } : {}) } })).block;
}
