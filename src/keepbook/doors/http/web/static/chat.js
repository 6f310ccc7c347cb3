// The Chat page: replies that come in word by word, and the closing that is asked for when the person moves on.
//
// A streamed turn is drawn with textContent only; once it is stored, the server's own piece takes its place.

import "./copy.js";
import { all, complaint, fetchFresh, find, inPlace, left, pieces, problem, say } from "./shell.js";

const talk = find("#talk");
const form = find("#compose");
const field = find("#say");
const button = form && find("button", form);
const sendIcon = button?.innerHTML;
const STOP_MS = 250;
const STOP_TRIES = 120;
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

// To the end, but no further than that the newest message stays in sight: a long answer is read from its beginning.
function toEnd() {
  const newest = all(".exchange", talk).at(-1);
  const end = document.scrollingElement.scrollHeight - innerHeight;
  const head = find("#chat-head")?.getBoundingClientRect().bottom ?? 0;
  const most = newest ? scrollY + newest.getBoundingClientRect().top - Math.max(head, 0) : end;
  scrollTo({ top: Math.min(end, most) });
}

let unsent = "";

async function post(address, body) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const sent = JSON.stringify(body);
  const keepalive = sent.length < 20_000; // it arrives though the page is left; browsers take no more than 64 kB so
  const answer = await fetch(address, { method: "POST", headers, body: sent, keepalive, signal: writing?.signal });
  if (!answer.ok) throw new Error(await problem(answer));
  return answer;
}

async function begin() {
  const incognito = Boolean(find("[name=incognito]", form));
  const thread = await (await post("/api/chat/threads", { incognito })).json();
  talk.dataset.thread = thread.id;
  form.action = `/chat/${thread.id}`;
  sessionStorage.removeItem(draft());
  history.replaceState(null, "", form.action);
  keepDraft(); // what is typed meanwhile belongs to this chat now
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

// Say something. With `from`, the turns from that number on are replaced; without text the last reply is written anew, or
// gone on with.
async function converse(text, from = 0, goOn = false) {
  const shown = all("[data-turn]", talk);
  const last = from ? from - 1 : Number(shown.at(-1)?.dataset.turn ?? 0);
  find(".hello", talk)?.remove();
  shown.filter(turn => Number(turn.dataset.turn) > last).forEach(turn => turn.remove());
  all(".exchange", talk).filter(one => !find("[data-turn]", one)).forEach(one => one.remove());
  all(".day", talk).filter(day => !day.nextElementSibling?.matches(".exchange")).forEach(day => day.remove());
  const said = made("#said-template", node => { find(".bubble", node).textContent = text; });
  const reply = made("#reply-template", node => {
    find("b", node).textContent = talk.dataset.agent;
    node.setAttribute("aria-label", `${talk.dataset.agent}, writing`);
    find("p", find(".said", node)).append(Object.assign(document.createElement("span"), { className: "caret" }));
  });
  const exchange = text ? made("#exchange-template", () => {}) : all(".exchange", talk).at(-1);
  all(".slip", exchange).forEach(slip => slip.remove());
  exchange.append(...(text ? [said] : []), reply);
  const day = find(".day", talk) ? [] : [made("#day-template", () => {})];  // what is read moves no more when it is stored
  talk.append(...day, exchange);
  toEnd();
  const words = document.createTextNode("");
  find(".caret", reply).before(words);
  writing = new AbortController();
  busy(true);
  let titled = null, wrong = null;
  try {
    if (!talk.dataset.thread) {
      await Promise.race([left, new Promise(on => setTimeout(on, 4000))]); // what the chat before kept goes along
      await begin();
    }
    talk.toggleAttribute("data-unread", true);
    const answer = await post(`/api/chat/threads/${talk.dataset.thread}/messages`, goOn ? { go_on: true } : { text, ...(from && { instead_of: from }) });
    unsent = "";
    keepDraft();
    for await (const [name, data] of events(answer)) {
      if (!writing.heard) listChats();  // it has its name by now
      writing.heard = true;
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
  unsent = "";
  // The next message may be sent when this exchange is in its place: sent sooner, it would fetch this one again.
  const stay = !atEnd();
  if (talk.dataset.thread && await settled(last)) [...day, ...(text ? [exchange] : []), reply].forEach(node => node.remove());
  else if (from) return location.reload();
  else {
    [...day, reply].forEach(node => node.remove());
    if (!field.value) { field.value = text; exchange.remove(); keepDraft(); } // what is typed meanwhile is never touched
  }
  writing = null;
  field.placeholder = field.dataset.going;
  busy(false);
  const why = find(".banner.bad [data-why]", talk);  // one box says what went wrong, and what can be done
  if (wrong && why) why.textContent = `${wrong[0].toUpperCase()}${wrong.slice(1)}.`;
  else if (wrong) talk.append(complaint(wrong));
  if (titled) all("[data-title]").forEach(place => { place.textContent = titled; });
  if (titled) document.title = `${titled} · Keepbook`;
  if (!stay) toEnd();
  field.focus({ preventScroll: true });
  await listChats();
  if (!stay) toEnd();
  announce();
}

// What came of the message, for those who hear the page: what was done, and to which lines.
function announce() {
  const done = new Map();
  for (const line of all(".kept-line:not(.out)", all(".exchange", talk).at(-1))) {
    const deed = (find(".deed > span", line)?.innerText || "").replace("In your book", "Kept");
    done.set(deed, [...done.get(deed) || [], find(".book", line).innerText]);
  }
  const said = [...done].map(([deed, lines]) => `${deed}: ${lines.join(", ")}.`);
  find("#announced").textContent = said.length ? `${said.join(" ")} Undo is available.` : "";
}

// What is stored now takes the place of what was streamed.
async function settled(last) {
  try {
    const answer = await fetch(`/chat/${talk.dataset.thread}/turns?after=${last}`, { headers: { "X-Partial": "1" } });
    if (!answer.ok) return false;
    const fresh = pieces(await answer.text());
    const any = Boolean(find("[data-turn]", fresh));
    find("#exchange-0", talk)?.remove();
    inPlace(all("#chat-head, #given, #due, [data-older] > *, .exchange", fresh)); // exchanges above, too
    const asked = find("[data-older]", fresh).dataset.asked.split(" "); // a later turn may have answered the others
    all("form[id^=question]", talk).filter(one => !asked.includes(one.id.slice(9)) && !find("fieldset:disabled", one)).forEach(one => one.remove());
    all("#chat-head, #given, #due, [data-older]", fresh).forEach(piece => piece.remove());
    all(".banner.bad", talk).forEach(banner => banner.remove());
    talk.append(fresh);
    return any;
  } catch {
    return false;
  }
}

// What closing would keep is read once the page stands: of a long chat that takes its time.
async function pencil() {
  const fresh = await fetchFresh(`/chat/${talk.dataset.thread}/pencil`, { headers: { "X-Partial": "1" } });
  if (!fresh || writing) return;
  const stay = !atEnd();
  const lines = Boolean(find(".line", fresh));
  const answered = piece => find(`#${piece.id} fieldset:disabled`); // what was just chosen stays, with its Undo
  inPlace(all(".exchange, #chat-head, #given, #due", fresh).filter(piece => !answered(piece)));
  for (const keys of all("[data-of-lines]")) keys.hidden = !lines;
  talk.removeAttribute("data-unpencilled");
  if (!stay) toEnd();
}

async function listChats() {
  const answer = await fetch(`/chat/list?current=${talk.dataset.thread ?? ""}`, { headers: { "X-Partial": "1" } });
  if (answer.ok) find("#chats").replaceChildren(pieces(await answer.text()));
}

// A menu that lies over the page goes when one looks elsewhere.
document.addEventListener("click", event => {
  for (const menu of all("[data-menu][open]")) if (!menu.contains(event.target) || event.target.closest("a:not([data-manage])")) menu.open = false;
});

function busy(on) {
  button.innerHTML = on ? find("#icon-stop").innerHTML : sendIcon;
  button.setAttribute("aria-label", on ? "Stop writing" : "Send");
}

// What was written so far is stored, and the stream ends by itself. Where another process writes it, hanging up does it;
// but not before a word came, for the message itself may be on its way yet: what is stopped is the reply alone.
async function stop() {
  const reply = writing;
  button.disabled = true;
  for (let tries = 0; writing === reply; tries++) {
    const answer = talk.dataset.thread && await fetch(`/chat/${talk.dataset.thread}/stop`, { method: "POST" }).catch(() => null);
    if (answer?.ok) break;
    if (reply.heard || tries === STOP_TRIES) { reply.abort(); break; }
    await new Promise(on => setTimeout(on, STOP_MS));
  }
  button.disabled = false;
}

form?.addEventListener("submit", event => {
  event.preventDefault();
  if (writing) return stop();
  const text = [...files.map(pasted), field.value].filter(part => part.trim()).join("\n\n");
  if (!text) return;
  files.length = 0;
  listFiles();
  unsent = text;
  field.value = "";
  keepDraft();
  converse(text);
});

document.addEventListener("submit", event => {
  const { from } = event.target.dataset;
  if (!from || writing) return;
  event.preventDefault();
  converse(find("textarea", event.target)?.value ?? "", Number(from), event.target.hasAttribute("data-go-on"));
});

field?.addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (!writing) form.requestSubmit();
  }
  if (event.key === "ArrowUp" && !field.value && find(".edit", talk)) {
    event.preventDefault();
    edit(true);
  }
});

// In a message that is said anew Enter sends, too.
talk?.addEventListener("keydown", event => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !event.target.matches(".resend textarea")) return;
  event.preventDefault();
  if (!writing) event.target.form.requestSubmit();
});

// What is opened to be said anew takes the focus: a letter typed there is no shortcut.
talk?.addEventListener("toggle", event => {
  if (event.target.matches(".edit") && event.target.open) toItsEnd(find("textarea", event.target));
}, true);

// The caret stands at the end from the first letter on; where one types already it is not moved.
function toItsEnd(words) {
  if (document.activeElement === words) return;
  words.setSelectionRange(words.value.length, words.value.length);
  words.focus();
}

function edit(open) {
  const box = open ? all(".edit", talk).at(-1) : document.activeElement.closest(".edit");
  box.open = open;
  open ? toItsEnd(find("textarea", box)) : field.focus();
}

// ── what was typed and not sent stays through a reload; of an incognito chat nothing is kept ─────────────────

// Whoever leaves before a message was sent finds it again, with what was typed meanwhile.
const draft = () => `draft ${location.pathname}`;
const keepDraft = () => {
  if (talk.hasAttribute("data-private")) return;
  const text = [unsent, field.value].filter(Boolean).join("\n\n");
  text ? sessionStorage.setItem(draft(), text) : sessionStorage.removeItem(draft());
};
field?.addEventListener("input", keepDraft);
const typing = field && field.value !== field.defaultValue; // somebody began before this script was here
if (field && !field.value && !talk.hasAttribute("data-private")) field.value = sessionStorage.getItem(draft()) ?? "";

// ── a text file goes along as pasted material ─────────────────────────────────────────────────────────────────

const LIMIT = 200_000;
const files = [];

function pasted({ name, text }) {
  const fence = "`".repeat(Math.max(2, ...(text.match(/`{3,}/g) ?? []).map(ticks => ticks.length)) + 1);
  return `${fence}${name.replace(/[`\n\r]/g, "").slice(0, 100)}\n${text.trimEnd()}\n${fence}`;
}

function listFiles() {
  find(".files", form).replaceChildren(...files.map(file => made("#file-template", chip => {
    const [name, size] = all("span", chip);
    name.textContent = file.name;
    size.textContent = `${Math.max(1, Math.round(file.text.length / 1000))} kB`;
    find("button", chip).setAttribute("aria-label", `Take ${file.name} out`);
    find("button", chip).addEventListener("click", () => { files.splice(files.indexOf(file), 1); listFiles(); field.focus(); });
  })));
}

async function addFile(file) {
  find("[data-complaint]", form)?.remove();
  const refuse = why => form.prepend(complaint(`Not added: ${file.name} ${why}`));
  if (file.size > 4 * LIMIT) return refuse(`is ${(file.size / 1e6).toFixed(1)} MB, the limit is 200 kB.`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return refuse("is no text file.");
  }
  if (text.includes("\0")) return refuse("is no text file.");
  if (files.reduce((sum, one) => sum + one.text.length, text.length + field.value.length) > LIMIT - 200) return refuse("is more than the 200 kB that fit.");
  files.push({ name: file.name, text });
  listFiles();
  field.focus();
}

const dropping = form && find(".dropping", form);
document.addEventListener("dragover", event => {
  if (!form || ![...event.dataTransfer.types].includes("Files")) return;
  event.preventDefault();
  dropping.hidden = false;
});
document.addEventListener("dragleave", event => { if (form && !event.relatedTarget) dropping.hidden = true; });
document.addEventListener("drop", event => {
  if (!form || !event.dataTransfer.files.length) return;
  event.preventDefault();
  dropping.hidden = true;
  for (const file of event.dataTransfer.files) addFile(file);
});
form && find("#file", form).addEventListener("change", ({ target }) => {
  for (const file of target.files) addFile(file);
  target.value = "";
  target.closest("details").open = false;
});

document.addEventListener("keydown", event => {
  if (event.key !== "Escape") return;
  if (writing) return stop();
  if (document.activeElement?.closest(".edit[open]")) return edit(false);
  if (find("#saw")) return closeSaw();
  if (find(".given:target")) return find(".given .shut").click();
  if (document.activeElement !== field) return;
  const line = all(".line:not(.out)", talk).at(-1);
  line ? line.focus() : field.blur(); // there letters answer, or lead elsewhere
});

// The panel is closed by leading elsewhere, but the person stays where they were reading.
document.addEventListener("click", event => {
  if (!event.target.closest?.(".shut")) return;
  event.preventDefault();
  const at = scrollY;
  location.hash = event.target.closest(".shut").hash;
  scrollTo({ top: at });
});

// ── what one reply saw: the panel from 1240 px, a sheet from below on smaller screens ─────────────────────────

function closeSaw() {
  const turn = find(`#turn-${find("#saw")?.dataset.sawOf}`);
  find("#saw")?.remove();
  turn?.classList.remove("seen");
  (turn && find("[data-saw]", turn))?.focus({ preventScroll: true });
}

async function openSaw(link) {
  const answer = await fetch(link.dataset.saw, { headers: { "X-Partial": "1" } });
  if (!answer.ok) return location.assign(link.href);
  const fresh = pieces(await answer.text());
  closeSaw();
  find("#given").after(fresh);
  link.closest(".turn").classList.add("seen");
  find("#saw").focus({ preventScroll: true });
}

document.addEventListener("click", event => {
  const link = event.target.closest?.("[data-saw], [data-saw-close]");
  if (!link || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  link.matches("[data-saw]") ? openSaw(link) : closeSaw();
});

document.addEventListener("keydown", event => {
  const turn = document.activeElement?.closest(".turn");
  if (event.key !== "w" || event.metaKey || event.ctrlKey || event.altKey || !turn) return;
  if (document.activeElement.matches("textarea, input") || document.documentElement.dataset.keys === "off") return;
  find("[data-saw]", turn)?.click();
});

// What was sent whole is put together when it is asked for.
document.addEventListener("toggle", async ({ target }) => {
  const place = target.open && target.dataset?.load && find("[data-loaded]", target);
  if (!place) return;
  const answer = await fetch(target.dataset.load, { headers: { "X-Partial": "1" } });
  if (answer.ok) place.replaceWith(pieces(await answer.text()));
}, true);

// What was left out is shown where one reads; what was opened stays open.
document.addEventListener("click", async event => {
  const link = event.target.closest?.("[data-left-out]");
  if (!link || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  const answer = await fetch(link.href, { headers: { "X-Partial": "1" } });
  const told = answer.ok && find("#left-out", pieces(await answer.text()));
  if (!told) return location.assign(link.href);
  told.tabIndex = -1;
  link.closest("p").replaceWith(told);
  told.focus({ preventScroll: true });
});

// ── another version of a turn, in place; a link to a turn that was replaced leads to its version ────────────

async function showVersion(address) {
  const answer = await fetch(address, { headers: { "X-Partial": "1" } });
  const fresh = answer.ok && find("#talk", pieces(await answer.text()));
  if (!fresh) return location.assign(address);
  talk.replaceChildren(...fresh.childNodes);
  const turn = document.getElementById(new URL(address, location).hash.slice(1));
  turn?.scrollIntoView({ block: "nearest" });
  (turn && find("[data-version]", turn))?.focus({ preventScroll: true });
}

document.addEventListener("click", event => {
  const link = event.target.closest?.("[data-version]");
  if (!link || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  showVersion(link.href);
});

const sought = /^#turn-(\d+)$/.exec(location.hash)?.[1];
if (sought && talk?.dataset.thread && !find(location.hash)) showVersion(`/chat/${talk.dataset.thread}?at=${sought}${location.hash}`);

// Cancel puts back what stood there and folds the form away.
document.addEventListener("reset", ({ target }) => {
  if (!target.matches(".resend")) return;
  const folded = target.closest("details");
  folded.open = false;
  find("summary", folded).focus();
});

// ── moving on ─────────────────────────────────────────────────────────────────────────────────────────────
// Another chat, a new one, another page, a closed window: all of them hide this page. So does a reload; by the name of
// this view the server can tell.

addEventListener("pagehide", () => {
  if (!talk?.dataset.thread || !talk.hasAttribute("data-unread")) return;
  const address = `/chat/${talk.dataset.thread}/leave?view=${talk.dataset.view ?? ""}`;
  if (!navigator.sendBeacon(address)) return;
  talk.removeAttribute("data-unread");
  sessionStorage.setItem("left", `${Date.now()} ${address} ${talk.hasAttribute("data-kept-at-once") ? "kept" : ""}`);
});

// What a form left in the address is told once.
const told = new URL(location);
for (const name of ["closed", "instead", "pencil", "refused", "archived"]) told.searchParams.delete(name);
if (talk?.dataset.thread && told.search !== location.search) history.replaceState(null, "", told);

if (talk?.hasAttribute("data-unpencilled")) pencil();
// A list leads to the end of a chat, a first line to its reply: there one goes on writing, and a browser that was led
// somewhere does not focus by itself. On a phone the keyboard would hide the reply.
const wide = matchMedia("(min-width: 820px)").matches;
const atReply = wide && location.hash === `#${all("[data-turn]", talk ?? document).at(-1)?.id}`;
if (location.hash === "#end" || atReply) {
  if (!atReply) history.replaceState(null, "", location.pathname + location.search);
  const goOn = () => document.activeElement === document.body && field?.focus({ preventScroll: true });
  document.readyState === "complete" ? goOn() : addEventListener("load", () => setTimeout(goOn));
}
// A tour begins at the top. Where the stylesheet says by itself that a chat begins at its end, nothing moves here.
const beginsAtEnd = CSS.supports("scroll-initial-target", "nearest");
if (!beginsAtEnd && !typing && !location.hash && !find(".tour") && find("[data-turn]", talk ?? document)) toEnd();
