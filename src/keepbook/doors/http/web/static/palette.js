// Ctrl/⌘ K: one list over the page, to find anything or do it. What it shows comes from /search, which shows the same
// groups as a page where no script runs. Fetched and put in place on first use.

import { all, find, pieces } from "./shell.js";

const WAIT_MS = 90;
let palette, waiting, asked = null;
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

async function look(words) {
  if (words === asked) return;
  asked = words;
  const turn = ++newest;
  const query = new URLSearchParams({ q: words });
  const answer = await fetch(`/search?${query}`, { headers: { "X-Partial": "1" } }).catch(() => null);
  if (turn !== newest || !answer?.ok) return; // what was typed meanwhile is asked for already
  const fresh = pieces(await answer.text());
  for (const id of ["found", "looked-through"]) find(`#${id}`, palette).replaceWith(find(`#${id}`, fresh));
  choose(options()[0]);
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
    const about = find("[data-new-about]", palette);
    go(event, about ?? chosen());
  }
}

async function onSubmit(event) {
  event.preventDefault();
  clearTimeout(waiting);
  await look(field().value.trim());
  go(event, chosen());
}

function make() {
  palette = find("#palette-of-page").content.firstElementChild.cloneNode(true);
  document.body.append(palette);
  palette.addEventListener("keydown", onKey);
  find("form", palette).addEventListener("submit", onSubmit);
  field().addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => look(field().value.trim()), WAIT_MS);
  });
  palette.addEventListener("click", event => {
    if (event.target === palette || event.target.closest("[data-close]")) palette.close();
    else if (event.target.closest("a")) palette.close(); // an address of this page leads to its place
  });
  palette.addEventListener("close", () => { asked = null; });
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
