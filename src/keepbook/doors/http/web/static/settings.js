// Settings act as they are changed; without script each form has its Save.
import { all, find } from "./shell.js";

const root = document.documentElement;

// What only this browser knows is shown at once, before the server has answered.
function show({ name, value, checked }) {
  if (name === "keys") root.dataset.keys = checked ? "on" : "off";
  if (name === "theme" && value === "system") delete root.dataset.theme;
  else if (name === "theme") root.dataset.theme = value;
}

let held = null;  // the control that was used: its part of the page comes back anew, and the focus with it

document.addEventListener("change", ({ target }) => {
  const form = target.form;
  if (!form?.matches("[data-at-once]")) return;
  held = `input[name="${target.name}"][value="${target.value}"]`;
  show(target);
  form.requestSubmit();
});

function tidy() {
  all("[data-at-once] [data-plain]").forEach(plain => { plain.hidden = true; });
  if (held && document.activeElement === document.body) find(`main ${held}`)?.focus();
}

tidy();
new MutationObserver(tidy).observe(find("main"), { childList: true, subtree: true });
