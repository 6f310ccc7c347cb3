// The first steps: the zone that this browser knows, and the trial of a model without leaving the page.

const find = what => document.querySelector(what);
const zone = find("#zone");
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

function clock() {
  const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone.value });
  const taken = zone.value === here ? "Taken from this browser. " : "";
  find("#zone-hint").textContent = `${taken}It is ${time.format(new Date())} there.`;
}

if (zone.matches("[data-take]") && here) {
  if (![...zone.options].some(option => option.value === here)) zone.add(new Option(here));
  zone.value = here;
}
clock();
zone.addEventListener("change", clock);

const tested = find("#tested");

document.addEventListener("click", async event => {
  const button = event.target.closest("[data-test]");
  if (!button || !tested) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(button.form, button));
  tested.replaceChildren(Object.assign(document.createElement("p"), { className: "small faint", textContent: "Asking it. A model that has to be loaded first takes a minute." }));
  tested.setAttribute("aria-busy", "true");
  button.disabled = true;
  try {
    const answer = await fetch(button.form.action, { method: "POST", body, headers: { "X-Partial": "1" } });
    const made = document.createElement("template");
    made.innerHTML = answer.ok ? await answer.text() : "";
    tested.replaceChildren(made.content);
    if (!answer.ok) tested.textContent = "It could not be tried just now. Nothing was changed.";
  } catch {
    tested.textContent = "The server cannot be reached. Nothing was changed.";
  }
  tested.removeAttribute("aria-busy");
  button.disabled = false;
});
