// Another address of the same page, put in place: the server renders the page without its shell (X-Partial: 1), and
// what it answers takes the place of <main>. A form that was refused comes back the same way, with what was typed.

import { all, complain, find, inPlace, pieces, problem, showToast } from "./shell.js";

const PASSING = ["undo", "events", "answered", "event", "exited"];
let newest = 0;

function remember(url) {
  for (const name of PASSING) url.searchParams.delete(name);
  history.replaceState(null, "", url.pathname + url.search);
}

// The answer in the page; `focus` says where the reader goes on. Answers that were overtaken are dropped.
async function put(asking, focus) {
  const turn = ++newest;
  const main = find("#main");
  main.setAttribute("aria-busy", "true");
  let answer;
  try {
    answer = await asking;
  } catch {
    complain(main, "The server cannot be reached. Nothing was changed.");
    return null;
  } finally {
    main.removeAttribute("aria-busy");
  }
  if (turn !== newest) return null;
  const url = new URL(answer.url);
  if (!(answer.headers.get("content-type") ?? "").startsWith("text/html")) {
    complain(main, await problem(answer));
    return null;
  }
  if (answer.redirected && url.pathname !== location.pathname) {
    location.assign(url);
    return null;
  }
  const made = pieces(await answer.text());
  const fresh = find("main", made);
  const toasts = [...made.querySelectorAll(".toast")];
  if (toasts.length) find("#toasts").replaceChildren();
  toasts.forEach(toast => showToast(toast));
  document.title = `${fresh.dataset.title} · Keepbook`;
  main.replaceWith(fresh);
  inPlace(all("#due", made));
  if (answer.ok || answer.redirected) remember(url);
  const at = find("[aria-invalid=true]", fresh) ?? find("[autofocus]", fresh) ?? (focus && find(focus, fresh));
  at?.focus({ preventScroll: at.matches(".entry") });
  if (!answer.ok) at?.scrollIntoView({ block: "center" });
  if (at?.matches("textarea")) at.setSelectionRange(at.value.length, at.value.length);
  return fresh;
}

export const open = (url, focus) => put(fetch(url, { headers: { "X-Partial": "1" } }), focus);

export function submit(form, button, focus) {
  const action = button?.getAttribute("formaction") ?? form.getAttribute("action");
  const sent = new URLSearchParams(new FormData(form, button));
  if (form.method === "get") return open(`${action.split("#")[0]}?${sent}`, focus);
  return put(fetch(action, { method: "POST", body: sent, headers: { "X-Partial": "1" } }), focus);
}
