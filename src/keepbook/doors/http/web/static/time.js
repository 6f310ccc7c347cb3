// Time travel: the strip answers while it is dragged, the arrows step from entry to entry, a page key by a day.

import { all, find, pieces, say } from "./shell.js";
import { open, submit } from "./place.js";

const KEYS = {
  ArrowLeft: "ArrowLeft", ArrowDown: "ArrowLeft", ArrowRight: "ArrowRight", ArrowUp: "ArrowRight",
  PageUp: "PageUp", PageDown: "PageDown", End: "now",
};
let busy = false;

async function go(url) {
  if (busy) return;
  busy = true;
  try {
    await open(url, "#when");
    ready();
  } finally {
    busy = false;
  }
}

document.addEventListener("keydown", event => {
  if (event.target.id !== "when" || !KEYS[event.key]) return;
  event.preventDefault();
  const link = find(`[data-step="${KEYS[event.key]}"]`);
  if (link) go(link.href);
});

document.addEventListener("click", event => {
  const link = event.target.closest?.("a[data-step]");
  if (link && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
    event.preventDefault();
    return go(link.href);
  }
  const copy = event.target.closest?.("[data-copy]");
  if (copy) navigator.clipboard.writeText(find(copy.dataset.copy).textContent).then(() => say("Copied."));
});

document.addEventListener("submit", event => {
  if (!event.target.matches("[data-clocks], [data-strip]")) return;
  event.preventDefault();
  submit(event.target, event.submitter, "#known").then(ready);
});

// While the strip is dragged, what stands around it follows; the strip itself stays in the hand.
let asked = 0;
async function follow(minute) {
  const turn = ++asked;
  const answer = await fetch(`/time?minute=${minute}`, { headers: { "X-Partial": "1" } });
  if (!answer.ok) return;
  const fresh = find("main", pieces(await answer.text()));
  if (turn !== asked) return;
  const when = find("#when", fresh);
  find("#when")?.setAttribute("aria-valuetext", when.getAttribute("aria-valuetext"));
  const now = all("[data-live]");
  all("[data-live]", fresh).forEach((piece, place) => now[place]?.replaceWith(piece));
  ready();
}

let waiting = 0;
document.addEventListener("input", event => {
  if (event.target.id !== "when") return;
  clearTimeout(waiting);
  waiting = setTimeout(follow, 60, event.target.value);
});

document.addEventListener("change", event => {
  if (event.target.id !== "when") return;
  clearTimeout(waiting);
  asked++;
  go(`/time?minute=${event.target.value}`);
});

function ready() {
  const copy = find("[data-copy]");
  if (copy && navigator.clipboard) copy.hidden = false;
}

ready();
