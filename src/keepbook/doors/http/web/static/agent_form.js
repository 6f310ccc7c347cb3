// The form of an agent: the next times follow what is picked. They come from a dry run, which saves nothing.
import { find, pieces } from "./shell.js";

const form = find("#when")?.form;

form?.addEventListener("change", async ({ target }) => {
  if (!["when", "at", "schedule"].includes(target.name)) return;
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "try");
  const answer = await fetch(form.action, { method: "POST", body });
  const fresh = answer.ok && pieces(await answer.text()).querySelector("#next");
  if (fresh) find("#next").replaceWith(fresh);
});
