// Forms that act as their controls are changed (data-at-once); without script each has its Save (data-plain).
import { all, find } from "./shell.js";

let held = null;  // the control that was used: its part of the page comes back anew, and the focus with it

document.addEventListener("change", ({ target }) => {
  const form = target.form;
  if (!form?.matches("[data-at-once]")) return;
  held = target.id ? `#${CSS.escape(target.id)}` : `input[name="${target.name}"][value="${target.value}"]`;
  form.requestSubmit();
});

function tidy() {
  all("[data-at-once] [data-plain]").forEach(plain => { plain.hidden = true; });
  if (held && document.activeElement === document.body) find(`main ${held}`)?.focus();
}

tidy();
new MutationObserver(tidy).observe(find("main"), { childList: true, subtree: true });
