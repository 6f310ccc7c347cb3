// Settings act as they are changed; what only this browser knows is shown at once, before the server has answered.
import "./at_once.js";

const root = document.documentElement;

document.addEventListener("change", ({ target: { name, value, checked, form } }) => {
  if (!form?.matches("[data-at-once]")) return;
  if (name === "keys") root.dataset.keys = checked ? "on" : "off";
  if (name === "theme" && value === "system") delete root.dataset.theme;
  else if (name === "theme") root.dataset.theme = value;
});
