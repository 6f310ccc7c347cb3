// Copying a reply, a piece of code in it, or a part of what was sent.

import { find, say } from "./shell.js";

document.addEventListener("click", async event => {
  const button = event.target.closest?.("[data-copy], [data-copy-code]");
  if (!button) return;
  const said = button.matches("[data-copy]") ? find(".said", button.closest(".turn")) : find("pre", button.closest(".code"));
  try {
    await navigator.clipboard.writeText(button.matches("[data-copy]") ? said.innerText : said.textContent);
    say("Copied.");
  } catch {
    getSelection().selectAllChildren(said);
    say("Selected; copy it with your keyboard.");
  }
});
