// The Chat page: replies that come in word by word, and the closing that is asked for when the person moves on.
//
// A streamed turn is drawn with textContent only; once it is stored, the server's own piece takes its place.

import { all, complaint, find, pieces, problem, say } from "./shell.js";

const talk = find("#talk");
const form = find("#compose");
const field = find("#say");
const button = form && find("button", form);
const sendIcon = button?.innerHTML;
let writing = null;

// ── talking ───────────────────────────────────────────────────────────────────────────────────────────────

const made = (template, fill) => {
  const node = find(template).content.firstElementChild.cloneNode(true);
  fill(node);
  return node;
};

function atEnd() {
  const page = document.scrollingElement;
  return page.scrollHeight - page.scrollTop - innerHeight < 160;
}

const toEnd = () => scrollTo({ top: document.scrollingElement.scrollHeight });

async function post(address, body) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal: writing?.signal });
  if (!answer.ok) throw new Error(await problem(answer));
  return answer;
}

async function begin() {
  const incognito = Boolean(find("[name=incognito]", form));
  const thread = await (await post("/api/chat/threads", { incognito })).json();
  talk.dataset.thread = thread.id;
  form.action = `/chat/${thread.id}`;
  history.replaceState(null, "", form.action);
}

// Server-sent events out of a response: [name, data] as they come.
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n\n");
    rest = whole.pop();
    for (const one of whole) {
      const name = /^event: (.*)$/m.exec(one)?.[1];
      const data = /^data: (.*)$/m.exec(one)?.[1];
      if (name && data) yield [name, JSON.parse(data)];
    }
  }
}

async function converse(text) {
  const last = Number(all("[data-turn]", talk).at(-1)?.dataset.turn ?? 0);
  find(".hello", talk)?.remove();
  find("#saved-0", talk)?.remove();
  const said = made("#said-template", node => { find(".bubble", node).textContent = text; });
  const reply = made("#reply-template", node => {
    find("b", node).textContent = talk.dataset.agent;
    node.setAttribute("aria-label", `${talk.dataset.agent}, writing`);
    find("p", find(".said", node)).append(Object.assign(document.createElement("span"), { className: "caret" }));
  });
  talk.append(said, reply);
  toEnd();
  const words = document.createTextNode("");
  find(".caret", reply).before(words);
  writing = new AbortController();
  busy(true);
  let titled = null, wrong = null;
  try {
    if (!talk.dataset.thread) await begin();
    talk.toggleAttribute("data-unread", true);
    const answer = await post(`/api/chat/threads/${talk.dataset.thread}/messages`, { text });
    for await (const [name, data] of events(answer)) {
      const follow = atEnd();
      if (name === "text") words.data += data.text;
      if (name === "notice") say(data.text);
      if (name === "problem") wrong = data.detail;
      if (name === "kept") titled = data.title;
      if (follow) toEnd();
    }
  } catch (error) {
    if (error.name !== "AbortError") wrong = error.message;
  }
  // The next message may be sent when this exchange is in its place: sent sooner, it would fetch this one again.
  if (talk.dataset.thread && await settled(last)) [said, reply].forEach(node => node.remove());
  else { reply.remove(); field.value = text; }
  writing = null;
  busy(false);
  if (wrong) talk.append(complaint(wrong));
  if (titled) all("[data-title]").forEach(place => { place.textContent = titled; });
  if (titled) document.title = `${titled} · Keepbook`;
  await listChats();
  toEnd();
  field.focus();
}

// What is stored now takes the place of what was streamed.
async function settled(last) {
  try {
    const answer = await fetch(`/chat/${talk.dataset.thread}/turns?after=${last}`, { headers: { "X-Partial": "1" } });
    if (!answer.ok) return false;
    const fresh = pieces(await answer.text());
    const any = Boolean(find("[data-turn]", fresh));
    all(".banner.bad", talk).forEach(banner => banner.remove());
    talk.append(fresh);
    return any;
  } catch {
    return false;
  }
}

async function listChats() {
  const answer = await fetch(`/chat/list?current=${talk.dataset.thread ?? ""}`, { headers: { "X-Partial": "1" } });
  if (answer.ok) find("#chats").replaceChildren(pieces(await answer.text()));
}

function busy(on) {
  button.innerHTML = on ? find("#icon-stop").innerHTML : sendIcon;
  button.setAttribute("aria-label", on ? "Stop writing" : "Send");
  field.required = !on;
}

form?.addEventListener("submit", event => {
  event.preventDefault();
  if (writing) return writing.abort();
  const text = field.value;
  if (!text.trim()) return;
  field.value = "";
  converse(text);
});

field?.addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (!writing) form.requestSubmit();
  }
});

document.addEventListener("keydown", event => {
  if (event.key !== "Escape") return;
  writing ? writing.abort() : find(".given:target .shut")?.click();
});

// The panel is closed by leading elsewhere, but the person stays where they were reading.
document.addEventListener("click", event => {
  if (!event.target.closest?.(".shut")) return;
  event.preventDefault();
  const at = scrollY;
  location.hash = event.target.closest(".shut").hash;
  scrollTo({ top: at });
});

// ── copying ───────────────────────────────────────────────────────────────────────────────────────────────

talk?.addEventListener("click", async event => {
  if (!event.target.closest("[data-copy]")) return;
  const said = find(".said", event.target.closest(".turn"));
  const text = all("p", said).map(part => part.textContent).join("\n\n");
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    getSelection().selectAllChildren(said);
    say("Selected; copy it with your keyboard.");
  }
});

// ── moving on ─────────────────────────────────────────────────────────────────────────────────────────────
// Another chat, a new one, another page, a closed window: all of them hide this page. So does a reload; by the name of
// this view the server can tell.

addEventListener("pagehide", () => {
  if (!talk?.dataset.thread || !talk.hasAttribute("data-unread")) return;
  const address = `/chat/${talk.dataset.thread}/leave?view=${talk.dataset.view ?? ""}`;
  if (navigator.sendBeacon(address)) talk.removeAttribute("data-unread");
});

if (!location.hash && find("[data-turn]", talk ?? document)) toEnd();
