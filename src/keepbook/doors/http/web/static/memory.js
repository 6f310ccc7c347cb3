// The memory pages: editing in place, menus, selecting several. Every form and link here works without it too.

import { all, find } from "./shell.js";
import { open, submit } from "./place.js";

const plain = event => event.metaKey || event.ctrlKey || event.shiftKey || event.button > 0;
const rowOf = at => {
  const row = at?.closest(".entry, .page-head");
  return row?.id ? `#${CSS.escape(row.id)}` : null;
};

document.addEventListener("submit", event => {
  const form = event.target;
  const ours = form.matches("[data-place], [data-filters], [data-ask]") || form.closest("#toasts");
  if (!ours || event.defaultPrevented) return;
  event.preventDefault();
  const button = event.submitter;
  const focus = form.matches("[data-filters]") ? "input[type=search]"
    : form.matches("[data-ask]") ? "[data-ask] input"
    : rowOf(form) ?? rowOf(button) ?? "#main";
  submit(form, button, focus);
});

document.addEventListener("click", event => {
  const link = event.target.closest?.("[data-open]");
  if (!link || plain(event)) return;
  event.preventDefault();
  const there = new URL(link.href);
  open(there.pathname + there.search, there.hash || "#main");
});

document.addEventListener("change", event => {
  const at = event.target;
  if (at.matches("[data-filters] select, [data-filters] [type=checkbox], [data-ask] [type=date]")) {
    const name = CSS.escape(at.name);
    submit(at.form, null, `[data-filters] [name=${name}], [data-ask] [name=${name}]`);
  } else if (at.matches("[data-all]")) {
    for (const box of all("[form=many][name=id]")) box.checked = at.checked;
  }
  if (at.matches("[data-all], [form=many], [name=every]")) {
    const every = find("#many [name=every]")?.checked;
    const count = all("[form=many][name=id]").filter(box => box.checked).length;
    find("[data-selected]").textContent = every ? "All of them:" : count ? `${count} chosen:` : "Choose lines, then:";
  }
});

document.addEventListener("input", event => {
  const { count } = event.target.dataset;
  if (count) find(`#${count}`).textContent = `${event.target.value.length} of ${event.target.maxLength} characters`;
});

// ── menus ─────────────────────────────────────────────────────────────────────────────────────────────────

const menus = () => all("details.menu[open]");

document.addEventListener("click", event => {
  for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
});

// The last row's menu reaches below the screen: what is in it comes into view.
document.addEventListener("toggle", ({ target }) => {
  if (target.matches("details.menu[open]")) find(".menu-list", target)?.scrollIntoView({ block: "nearest" });
}, true);

// On a row that was stepped to, Enter folds it out.
document.addEventListener("keydown", event => {
  const fold = event.key === "Enter" && event.target.matches?.(".sentences > .entry") && find("details", event.target);
  if (fold) fold.open = !fold.open;
});

// A line of the book has no second line: there Enter saves, as it sends in a chat.
const isLine = ({ target, shiftKey, isComposing }) =>
  !shiftKey && !isComposing && target.matches?.("form[data-save] textarea[name=content]");

// Before the shell hears of it: Escape closes a menu first, and only then an edit.
document.addEventListener("keydown", event => {
  const { key, target } = event;
  if (key === "Escape" && menus().length) {
    event.stopImmediatePropagation();
    for (const menu of menus()) {
      menu.open = false;
      find("summary", menu).focus();
    }
  } else if (key === "Enter" && (event.metaKey || event.ctrlKey || isLine(event))) {
    event.preventDefault();
    target.closest?.("form[data-save]")?.requestSubmit();
  }
}, true);
