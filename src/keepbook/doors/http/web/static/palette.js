// Ctrl/⌘ K: one list over the page, to find anything or do it. What it shows comes from /search, which shows the same
// groups as a page where no script runs. Fetched and put in place on first use.

import { all, find, pieces } from "./shell.js";

const WAIT_MS = 90;
let palette, waiting, asked = null, shown = null;
let looking = Promise.resolve();
let newest = 0;

const field = () => find("#ask", palette);
const options = () => all("[role=option]", palette);
const chosen = () => find("[aria-selected=true]", palette);

function choose(option) {
  const before = chosen();
  before?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  if (option) field().setAttribute("aria-activedescendant", option.id);
  else field().removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const rows = options();
  if (!rows.length) return;
  const at = rows.indexOf(chosen());
  choose(rows[(at + by + rows.length) % rows.length]);
}

// The words that were asked last are not asked again; whoever waits for them waits for the same answer.
function look(words) {
  if (words !== asked) looking = ask(words);
  return looking;
}

async function ask(words) {
  asked = words;
  const turn = ++newest;
  const query = new URLSearchParams({ q: words });
  const answer = await fetch(`/search?${query}`, { headers: { "X-Partial": "1" } }).catch(() => null);
  if (turn !== newest || !answer?.ok) return; // what was typed meanwhile is asked for already
  const fresh = pieces(await answer.text());
  for (const id of ["found", "looked-through"]) find(`#${id}`, palette).replaceWith(find(`#${id}`, fresh));
  shown = words;
  choose(options()[0]);
}

// What is typed, found: in the list, or on the page of the same groups where the list did not come.
async function open(event, choice) {
  event.preventDefault();
  clearTimeout(waiting);
  const words = field().value.trim();
  if (words !== shown) await look(words);
  if (words === shown) go(event, choice());
  else location.assign(`/search?${new URLSearchParams({ q: words })}`);
}

function go(event, link) {
  if (!link) return;
  event.preventDefault();
  palette.close();
  location.assign(link.href);
}

function onKey(event) {
  const { key } = event;
  event.stopPropagation(); // the letters are typed, and the shortcuts of the page behind wait
  if (key === "ArrowDown" || key === "ArrowUp") {
    event.preventDefault();
    step(key === "ArrowDown" ? 1 : -1);
  } else if (key === "Escape" || ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k")) {
    event.preventDefault();
    palette.close();
  } else if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
    open(event, () => find("[data-new-about]", palette) ?? chosen());
  }
}

function make() {
  palette = find("#palette-of-page").content.firstElementChild.cloneNode(true);
  document.body.append(palette);
  palette.addEventListener("keydown", onKey);
  find("form", palette).addEventListener("submit", event => open(event, chosen));
  field().addEventListener("input", () => {
    clearTimeout(waiting);
    if (field().value.trim() !== shown) choose(null); // no row stands for words that it was not found by
    waiting = setTimeout(() => look(field().value.trim()), WAIT_MS);
  });
  palette.addEventListener("click", event => {
    if (event.target === palette || event.target.closest("[data-close]")) palette.close();
    else if (event.target.closest("a")) palette.close(); // an address of this page leads to its place
  });
  palette.addEventListener("close", () => { asked = shown = null; });
}

export function openPalette(words = "") {
  if (!palette) make();
  if (palette.open) return;
  find("#side")?.matches(":popover-open") && find("#side").hidePopover();
  field().value = words;
  palette.showModal();
  field().select();
  look(words.trim());
}
