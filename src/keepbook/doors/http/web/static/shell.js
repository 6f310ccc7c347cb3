// What every page gets: keyboard, toasts, and forms that change a piece of the page in place.
//
//   <form data-swap="#entry-7" …>   sent with X-Partial: 1; the answer takes the place of the nearest #entry-7.
//                                   Toasts in the answer move to the corner, further pieces of it to where their
//                                   ids stand; a form that was refused comes back so too. Without script it is a
//                                   plain form.
//   data-undo                       the button that takes back a write; `u` presses the last one on the page.
//   data-key="e"                    inside an .entry or .line: pressed by that letter while that has the focus.
//   data-go="m"                     followed by `g` then that letter.
//   data-fresh                      shows the book, and is fetched anew when a chat that was left has been read.
//   [data-keys=off] on <html>       the person wants no single letters.

const TOAST_MS = 8000;

export const find = (what, inside = document) => inside.querySelector(what);
export const all = (what, inside = document) => [...inside.querySelectorAll(what)];

// Parsed in a template, so nothing in it runs before it stands in the page; the server has escaped it.
export function pieces(html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  return made.content;
}

// ── toasts ────────────────────────────────────────────────────────────────────────────────────────────────

// One that has a way back stays until it is closed or the page is left: nobody has only some seconds for an Undo.
function keepUndo(toast) {
  all("#toasts .toast:has([data-undo])").forEach(earlier => earlier === toast || earlier.remove());
  if (find("[data-later]", toast)) return;
  const close = Object.assign(document.createElement("button"), { className: "link", type: "button", textContent: "OK" });
  close.setAttribute("data-later", "");
  toast.append(close);
}

export function showToast(toast, ms = TOAST_MS) {
  find("#toasts").append(toast);
  if (find("[data-undo]", toast)) return keepUndo(toast);
  if (!ms) return;
  let end = setTimeout(() => toast.remove(), ms);
  const hold = () => clearTimeout(end);
  const let_go = () => { hold(); end = setTimeout(() => toast.remove(), ms); };
  for (const on of ["pointerenter", "focusin"]) toast.addEventListener(on, hold);
  for (const off of ["pointerleave", "focusout"]) toast.addEventListener(off, let_go);
}

export function say(text, ms = TOAST_MS) {
  const toast = Object.assign(document.createElement("div"), { className: "toast" });
  toast.append(Object.assign(document.createElement("span"), { textContent: text }));
  toast.setAttribute("role", "status");
  showToast(toast, ms);
  return toast;
}

// ── forms in place ────────────────────────────────────────────────────────────────────────────────────────

export async function problem(answer) {
  try {
    return (await answer.json()).detail;
  } catch {
    return `The server answered ${answer.status}. Nothing was changed.`;
  }
}

export function complaint(text) {
  const made = find("#complaint").content.firstElementChild.cloneNode(true);
  find("strong", made).textContent = text[0].toUpperCase() + text.slice(1);
  return made;
}

export function complain(near, text) {
  find("[data-complaint]", near)?.remove();
  near.prepend(complaint(text));
}

export async function send(form, button) {
  const data = new FormData(form, button);
  const body = new URLSearchParams(data);
  return fetch(button?.getAttribute("formaction") ?? form.action, {
    method: "POST", body, headers: { "X-Partial": "1" },
  });
}

// A menu that the person has opened stays open in the piece that takes its place.
function keepOpen(there, node) {
  const folds = all("details", node);
  const before = all("details", there);
  if (folds.length === before.length) before.forEach((fold, at) => { folds[at].open ||= fold.open; });
}

// Pieces that stand in the page already are put in their places; answers with those that have none. What the address
// points to stays the same piece: a panel that was opened so would close. So does what is no different: a finger may be on it.
// No piece with a place is left where it came from: it would stand in the page twice.
export const inPlace = nodes => nodes.filter(node => {
  const there = node.id && document.getElementById(node.id);
  if (!there) return true;
  keepOpen(there, node);
  node.remove();
  if (there.matches(":target")) there.replaceChildren(...node.childNodes);
  else if (!there.isEqualNode(node)) there.replaceWith(node);
  return false;
});

const sending = new Set(); // forms that were sent and have no answer yet
let forms = 0;

// Pieces of a page as it is now: what was fetched while a form was under way may be older than the form's answer.
export async function fetchFresh(address, options) {
  for (;;) {
    const before = forms;
    const answer = await fetch(address, options);
    if (!answer.ok) return null;
    const fresh = pieces(await answer.text());
    if (!sending.size && forms === before) return fresh;
    await Promise.allSettled(sending);
  }
}

function swap(form, button) {
  forms += 1;
  const sent = swapPiece(form, button).finally(() => sending.delete(sent));
  sending.add(sent);
}

async function swapPiece(form, button) {
  const target = form.closest(form.dataset.swap) ?? find(form.dataset.swap);
  form.setAttribute("aria-busy", "true");
  let answer;
  try {
    answer = await send(form, button);
  } catch {
    complain(form, "The server cannot be reached. Nothing was changed.");
    return;
  } finally {
    form.removeAttribute("aria-busy");
  }
  const isPage = (answer.headers.get("content-type") ?? "").startsWith("text/html");
  if (!answer.ok && !isPage) return complain(form, await problem(answer));
  const made = pieces(await answer.text());
  for (const toast of all(".toast", made)) showToast(toast);
  const fresh = made.firstElementChild;
  const line = button?.closest(".kept-line[id]")?.id;
  inPlace([...made.children].slice(1));
  target.replaceWith(made);
  focusAfter(fresh, line && document.getElementById(line));
}

// Where one goes on: what was undone stays under the finger; else what was refused, the next line that waits, or the way back.
function focusAfter(fresh, same) {
  if (!fresh) return;
  const kept = same && !same.matches("[tabindex]") && find("button", same);
  const next = kept || find("[aria-invalid=true]", fresh) || find("[autofocus]", fresh) || (fresh.matches("[tabindex]") ? fresh : null);
  const focus = next || find(".unsure[tabindex]", fresh) || all("[data-undo]", fresh).at(-1);
  focus?.focus({ preventScroll: true });
}

document.addEventListener("submit", event => {
  const form = event.target;
  if (!form.dataset.swap || event.defaultPrevented) return;
  event.preventDefault();
  swap(form, event.submitter);
});

// ── the chats' own menus: the same small form that /chat/{id}/manage shows as a page ──────────────────────────

document.addEventListener("click", async event => {
  const link = event.target.closest?.("[data-manage]");
  if (!link || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  const row = link.closest("li") ?? link.parentElement;
  const open = find(".manage", row);
  all(".manage", link.closest("nav, header")).forEach(other => other.remove());
  if (open) return;
  const answer = await fetch(link.href, { headers: { "X-Partial": "1" } });
  if (!answer.ok) return location.assign(link.href);
  row.append(pieces(await answer.text()));
  find(".manage input", row)?.focus();
  find(".manage", row)?.scrollIntoView({ block: "nearest" }); // all of it, also where the drawer ends
});

// ── keyboard ──────────────────────────────────────────────────────────────────────────────────────────────

const inField = at => at?.closest?.("input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]");
let went = 0;

function step(by) {
  const entries = all("main :is(.entry, .line)[tabindex]").filter(entry => entry.checkVisibility());
  if (!entries.length) return;
  const at = entries.indexOf(document.activeElement.closest(".entry, .line"));
  entries[at < 0 ? (by > 0 ? 0 : entries.length - 1) : Math.min(Math.max(at + by, 0), entries.length - 1)].focus();
}

const undoLast = () => all("[data-undo]").filter(button => button.checkVisibility()).at(-1)?.click();

function letter(key, event) {
  if (Date.now() - went < 1500) {
    went = 0;
    return find(`[data-go="${CSS.escape(key)}"]`)?.click();
  }
  const acts = {
    "/": () => find("main input[type=search]") ? find("main input[type=search]").focus() : openPalette(),
    "?": () => find("#keys").showModal(),
    g: () => { went = Date.now(); },
    j: () => step(1),
    k: () => step(-1),
    u: undoLast,
  };
  const entry = document.activeElement?.closest("[data-card]") ?? document.activeElement?.closest(".entry, .line") ?? find("[data-card]");
  const button = entry && find(`[data-key="${CSS.escape(key)}"]`, entry);
  if (!button && !acts[key]) return;
  event.preventDefault();
  button ? button.click() : acts[key]();
}

// Fetched when it is first asked for: a page that is only read does without. What is typed meanwhile is typed into it.
async function openPalette(words = "") {
  let typed = "";
  const hold = event => {
    if (event.key.length > 1 || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    typed += event.key;
  };
  document.addEventListener("keydown", hold, true);
  try {
    const palette = await import("./palette.js");
    palette.openPalette(words + typed);
  } finally {
    document.removeEventListener("keydown", hold, true);
  }
}

document.addEventListener("click", event => {
  const opener = event.target.closest?.("[data-palette]");
  if (!opener || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  openPalette(opener.value ?? "");
});

document.addEventListener("keydown", event => {
  const { key, target } = event;
  const meta = (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey;
  if (meta && key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
  } else if (key === "Escape") {
    const open = find(".manage");
    open ? open.remove() : all("main [data-cancel]").find(cancel => cancel.checkVisibility())?.click();
  } else if (inField(target) || event.defaultPrevented || event.altKey) {
    return;
  } else if (meta && key.toLowerCase() === "z") {
    event.preventDefault();
    undoLast();
  } else if (!event.metaKey && !event.ctrlKey && document.documentElement.dataset.keys !== "off") {
    letter(key, event);
  }
});

document.addEventListener("click", event => event.target.closest?.("[data-later]")?.closest(".toast").remove());

document.documentElement.classList.add("js");  // what only script can do may be seen now
all("#toasts > .toast").forEach(toast => showToast(toast, toast.hasAttribute("data-stays") ? 0 : TOAST_MS));

// ── a chat that was left is read behind the page that comes after it ────────────────────────────────────────
// What came of it arrives as a cookie of its own (books on other ports share them), with an answer that nobody waits for. Until then this page says that it is being
// read (but where its lines were kept at once); then it says what was kept, and what shows the book (data-fresh, each by its id) is fetched anew.

const LOOK_MS = 500;
const LEFT_MS = 120_000;
const WORDS = ["kept", "proposed", "left out"];
const cameOf = id => document.cookie.match(new RegExp(`(?:^|; )keepbook_left_${id}=([\\w.]+)`))?.[1];
const wait = ms => new Promise(on => setTimeout(on, ms));

async function anew() {
  const fresh = await fetchFresh(location.href).catch(() => null);
  if (!fresh || find("main .editing, main .adding")) return; // what is being written is not taken away
  inPlace(all("[data-fresh]").map(old => find(`#${old.id}`, fresh)).filter(Boolean));
}

// Said once, with the way out: the chat waits as it is until its person chooses, or it is tried again.
function unread(id) {
  const toast = find("#unread").content.firstElementChild.cloneNode(true);
  find("form", toast).action = `/chat/${id}/close`;
  showToast(toast, 0);
}

async function readLeft(since, address, kept) {
  const id = /^\/chat\/(\w+)\//.exec(address)?.[1] ?? "";
  const here = location.pathname === `/chat/${id}`; // a reload, or back again
  let reading = null, came;
  for (let look = 0; Date.now() - since < LEFT_MS; look++) {
    came = cameOf(id);
    if (came) document.cookie = `keepbook_left_${id}=; path=/; max-age=0`;
    if (came && came !== "busy") break;
    if (came) navigator.sendBeacon(address); // somebody else is reading it: asked again
    if (look && !here && !kept && !find("#talk")) reading ??= say("The chat you left is being read for what to keep. You need not wait.", 0);
    await wait(look ? LOOK_MS : LOOK_MS / 2);
  }
  sessionStorage.removeItem("left");
  if (came && !here) await anew();
  reading?.remove();
  if (came === "failed") return unread(id);
  const counts = (came ?? "").split(".").map(Number);
  const words = WORDS.map((word, at) => counts[at] ? `${counts[at]} ${word}` : "").filter(Boolean).join(" · ");
  if (!words || find("#talk")) return; // in a chat there is no toast for keeping
  const review = { className: "link", href: counts[1] ? "/review" : "/profile/facts", textContent: "Review" };
  say(words).append(Object.assign(document.createElement("a"), review));
}

const [since, address, kept] = (sessionStorage.getItem("left") ?? "").split(" ");
export const left = address && Date.now() - since < LEFT_MS ? readLeft(Number(since), address, kept) : Promise.resolve();
