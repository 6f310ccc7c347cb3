// A run at work: look again until it is done. Without script the page has a link, or is loaded again.
import { find } from "./shell.js";
import { open } from "./place.js";

let pause = 700;

async function look() {
  if (!find("[data-at-work]")) return;
  // Somebody is writing in a form of this page: that must not be taken away.
  if (!document.activeElement?.matches("input, textarea, select")) await open(location.pathname + location.search);
  pause = Math.min(pause * 1.3, 5000);
  setTimeout(look, pause);
}

setTimeout(look, pause);
