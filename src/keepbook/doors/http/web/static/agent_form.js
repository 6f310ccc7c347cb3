// The form of an agent: a template fills what nobody has changed by hand, with Undo; the next times follow what is
// picked. They come from a dry run, which saves nothing.
import { all, find, pieces, showToast } from "./shell.js";

const form = find("#when")?.form;
const fields = () => [...form.elements].filter(field => field.name && field.name !== "do");
const value = field => field.type === "checkbox" ? field.checked : field.value;
const put = (field, to) => { field[field.type === "checkbox" ? "checked" : "value"] = to; };
let filled = form && fields().map(value);   // as it was last filled, by the server or by a template
const marked = link => {
  for (const one of all(".pick-one [aria-current]")) one.removeAttribute("aria-current");
  link?.setAttribute("aria-current", "true");
};
const ending = inside => [find(".banner.amber", inside), ...all(".form-end", inside)].filter(Boolean);
const ends = with_ => { const old = ending(form); old[0].before(...with_); for (const one of old) one.remove(); };

document.addEventListener("click", async event => {
  const link = event.target.closest?.(".pick-one a");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  const answer = await fetch(link.href);
  const theirs = answer.ok && pieces(await answer.text()).querySelector("#when")?.form;
  if (!theirs) { location.assign(link.href); return; }
  const before = fields().map(value), was = filled, had = find(".pick-one [aria-current]"), end = ending(form);
  const fresh = new Map([...theirs.elements].map(field => [field.name, field]));
  fields().forEach((field, at) => {
    const from = fresh.get(field.name);
    if (from && (value(field) === was[at] || field.name === "template")) put(field, value(from));
  });
  filled = fields().map((field, at) => fresh.has(field.name) ? value(fresh.get(field.name)) : was[at]);
  marked(link);
  form.scrollIntoView({ block: "start" });
  ends(ending(theirs));   // whether it needs a model, and what Save then says
  form.elements.when.dispatchEvent(new Event("change", { bubbles: true }));
  const toast = Object.assign(document.createElement("div"), { className: "toast" });
  const undo = Object.assign(document.createElement("button"), { className: "link", type: "button", textContent: "Undo" });
  toast.setAttribute("role", "status");
  toast.append(`Filled from ${find("b", link).textContent}. What you had typed stays.`, undo);
  undo.addEventListener("click", () => {
    fields().forEach((field, at) => put(field, before[at]));
    filled = was;
    marked(had);
    ends(end);
    toast.remove();
    form.elements.when.dispatchEvent(new Event("change", { bubbles: true }));
  });
  showToast(toast);
});

function asked() {
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "try");
  return body;
}

form?.addEventListener("change", async ({ target }) => {
  if (!["when", "at", "schedule"].includes(target.name)) return;
  if (target.name === "schedule") form.elements.when.value = "cron";   // what was written is what counts
  const body = asked();
  const answer = await fetch(form.action, { method: "POST", body });
  const fresh = answer.ok && pieces(await answer.text());
  if (!fresh || String(body) !== String(asked())) return;   // it was changed meanwhile
  for (const place of ["#next", "#runs-when"]) {
    const piece = fresh.querySelector(place);
    if (piece) find(place)?.replaceWith(piece);
  }
});
