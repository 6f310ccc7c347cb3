/**
 * A Keepbook server: every operation of its API by name, typed from the server's own document.
 *
 *     const book = new Keepbook("https://books.example.org", { token: "kb_…" });
 *     const made = await book.call("remember", { body: { content: "Lives in Oslo" } });
 */

import type { components, operations } from "./document.js";
import { KeepbookError } from "./errors.js";
import { OPERATIONS } from "./operations.js";

export { KeepbookError, type Kind } from "./errors.js";
export type Schemas = components["schemas"];
export type Operation = keyof typeof OPERATIONS & keyof operations;

type Part<Id extends Operation, Where extends string> = operations[Id]["parameters"] extends { [W in Where]?: infer P }
  ? P
  : never;
type Body<Id extends Operation> = operations[Id] extends { requestBody?: infer B }
  ? NonNullable<B> extends { content: infer C } ? C[keyof C] : never
  : never;
type Told<R> = R extends { content: infer C } ? (C extends { "application/json": infer J } ? J : string) : undefined;
type Good<R> = { [S in keyof R]: S extends 200 | 201 | 204 ? Told<R[S]> : never }[keyof R];

/** What an operation takes: what stands in its path, in its query, and its body. */
export type Arguments<Id extends Operation> = {
  path?: Part<Id, "path">;
  query?: Part<Id, "query">;
  body?: Body<Id>;
  /** Ends the call from outside. */
  signal?: AbortSignal;
};
/** What it answers. */
export type Answer<Id extends Operation> = Good<operations[Id]["responses"]>;

/** What happens while a reply comes: pieces of text, tools, notices, and last the stored message. */
export type Piece =
  | { event: "text"; text: string }
  | { event: "tool"; name: string; answer: string | null; memory_event: Record<string, unknown> | null }
  | { event: "notice"; text: string }
  | { event: "kept"; message: Schemas["Message"]; title: string | null };

export interface Options {
  /** The key, as `keepbook token create` shows it. */
  token?: string;
  /** Whose book, with a key that serves many. */
  owner?: string;
  /** On whose word: the person's (the default) or an agent's, which never outranks it. */
  by?: "person" | "agent";
  /** How often a request is tried in all. */
  tries?: number;
  fetch?: typeof fetch;
}

const AGAIN = new Set([429, 502, 503, 504]);
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

/** What `fetch` says, and the cause that it keeps to itself; with what to do where a certificate is not trusted. */
function why(error: Error): string {
  const { code = "", message = "" } = (error.cause ?? {}) as { code?: string; message?: string };
  const told = [error.message, code || message].filter(Boolean).join(": ");
  return /CERT|SIGNATURE/.test(code) ? `${told}; for one of your own authority name its file in NODE_EXTRA_CA_CERTS` : told;
}

export class Keepbook {
  readonly address: string;
  readonly #options: Options;
  readonly #fetch: typeof fetch;

  constructor(address: string, options: Options = {}) {
    const url = new URL(address);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && LOOPBACK.test(url.hostname))) {
      throw new KeepbookError(`${url.protocol}// sends your book in the clear; use https://`, "insecure", 0, "Invalid");
    }
    this.address = address.replace(/\/+$/, "");
    this.#options = options;
    this.#fetch = options.fetch ?? fetch;
  }

  /** Call an operation by its name in the document. A write happens once, however often it has to be sent. */
  async call<Id extends Operation>(id: Id, given: Arguments<Id> = {}): Promise<Answer<Id>> {
    const [verb] = OPERATIONS[id];
    const key: Record<string, string> = verb === "GET" ? {} : { "Idempotency-Key": crypto.randomUUID() };
    const response = await this.#sent(id, given, { Accept: "application/json", ...key }, true);
    if (response.status === 204) return undefined as Answer<Id>;
    const json = (response.headers.get("content-type") ?? "").split(";")[0] === "application/json";
    return (json ? await response.json() : await response.text()) as Answer<Id>;
  }

  /** Say something in a chat; the reply comes in pieces. */
  async *say(chat: string, text: string, hidden?: string): AsyncGenerator<Piece> {
    const body = hidden === undefined ? { text } : { text, hidden };
    const given = { path: { id: chat }, body } as unknown as Arguments<"say_in_chat">;
    for await (const { event, data } of this.#streamed("say_in_chat", given)) {
      const told = JSON.parse(data) as Record<string, unknown>;
      if (event === "problem") throw KeepbookError.of(Number(told["status"]), told);
      yield { event, ...told } as Piece;
      if (event === "kept") return;
    }
    throw new KeepbookError("the reply broke off; what was said is in the chat", "unavailable");
  }

  /** Follow what changes, from an event on, until the loop is left. */
  async *follow(after = 0, signal?: AbortSignal): AsyncGenerator<Schemas["Changed"]> {
    const given = { query: { after }, ...(signal ? { signal } : {}) } as Arguments<"list_events">;
    for await (const { event, data } of this.#streamed("list_events", given)) {
      if (event === "change") yield JSON.parse(data) as Schemas["Changed"];
    }
  }

  async *#streamed<Id extends Operation>(id: Id, given: Arguments<Id>): AsyncGenerator<{ event: string; data: string }> {
    const response = await this.#sent(id, given, { Accept: "text/event-stream" }, false);
    const decoder = new TextDecoder();
    let rest = "";
    let event = "";
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("event: ")) event = line.slice(7);
        else if (line.startsWith("data: ")) yield { event, data: line.slice(6) };
      }
    }
  }

  async #sent<Id extends Operation>(
    id: Id, given: Arguments<Id>, headers: Record<string, string>, again: boolean,
  ): Promise<Response> {
    const [verb, path] = OPERATIONS[id];
    const sent: RequestInit = { method: verb, headers: this.#headers(headers, given.body), signal: given.signal ?? null };
    if (given.body !== undefined) sent.body = typeof given.body === "string" ? given.body : JSON.stringify(given.body);
    const url = this.address + filled(path, (given.path ?? {}) as Values) + asked((given.query ?? {}) as Values);
    const tries = again ? (this.#options.tries ?? 5) : 1;
    for (let nth = 1; ; nth++) {
      const response = await this.#fetch(url, sent).catch((error: unknown) => error as Error);
      if (response instanceof Response) {
        if (response.ok) return response;
        if (nth === tries || !AGAIN.has(response.status)) throw await KeepbookError.from(response);
      } else if (nth === tries || given.signal?.aborted) {
        throw new KeepbookError(`${this.address} cannot be reached (${why(response)})`, "unavailable");
      }
      const asks = response instanceof Response ? Number(response.headers.get("retry-after") ?? 0) : 0;
      await new Promise((done) => setTimeout(done, Math.max(asks * 1000, 100 * 2 ** nth)));
    }
  }

  #headers(more: Record<string, string>, body: unknown): Record<string, string> {
    const { token, owner, by } = this.#options;
    return {
      ...more,
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(owner ? { "X-Keepbook-Owner": latin(owner), "X-Keepbook-Actor": by ?? "person" } : {}),
      ...(!owner && by === "agent" ? { "X-Keepbook-Actor": "agent" } : {}),
      ...(body === undefined ? {} : { "Content-Type": typeof body === "string" ? "text/plain" : "application/json" }),
    };
  }
}

type Values = Record<string, unknown>;

/** A name's UTF-8 bytes, as `fetch` takes them in a header. */
function latin(name: string): string {
  return String.fromCharCode(...new TextEncoder().encode(name));
}

function filled(path: string, given: Values): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given[name])));
}

/** A query: a list is said several times, a map as `name.KEY`. */
function asked(given: Values): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (Array.isArray(value)) value.forEach((item) => query.append(name, String(item)));
    else if (typeof value === "object") {
      for (const [key, item] of Object.entries(value)) query.append(key.startsWith(`${name}.`) ? key : `${name}.${key}`, String(item));
    } else query.append(name, String(value));
  }
  return query.size ? `?${query}` : "";
}
