// The trial of a model without leaving the page: what it found stands under the button that asked. What is chosen and
// was not tried yet is tried before the form goes on; one that does not answer is told, and the next press goes on.

const find = (what, inside = document) => inside.querySelector(what);
const placeOf = button => find("[data-tested]", button.closest(".then"));

// A field that is wrong says so itself, as on a page that was sent, and takes the focus.
function putBeside(form, made) {
  const told = find("[data-beside]", made);
  if (!told) return;
  const field = form.elements[told.dataset.beside], sentence = told.content.firstElementChild;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", sentence.id);
  find(`#${sentence.id}`)?.remove();
  field.closest(".field").append(sentence);
  told.remove();
  field.focus({ preventScroll: true });
  field.scrollIntoView({ block: "center" });
}

// Who saves while a trial is going on waits for that one.
const trials = new WeakMap();

function trial(button) {
  if (!trials.has(button)) trials.set(button, ask(button).finally(() => trials.delete(button)));
  return trials.get(button);
}

async function ask(button) {
  const tested = placeOf(button), form = button.form;
  const body = new URLSearchParams(new FormData(form, button));
  const wait = "Asking it. A model that has to be loaded first takes a minute.";
  tested.replaceChildren(Object.assign(document.createElement("p"), { className: "small faint", textContent: wait }));
  tested.setAttribute("aria-busy", "true");
  tested.scrollIntoView({ block: "nearest" });
  button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { "X-Partial": "1" } });
    const made = document.createElement("template");
    made.innerHTML = answer.ok ? await answer.text() : "";
    tested.replaceChildren(made.content);
    putBeside(form, tested);
    if (!answer.ok) tested.textContent = "It could not be tried just now. Nothing was changed.";
  } catch {
    tested.textContent = "The server cannot be reached. Nothing was changed.";
  }
  tested.removeAttribute("aria-busy");
  button.disabled = false;
  if (tested.childElementCount) tested.scrollIntoView({ block: "nearest" });
  return find("[name=tested]", tested)?.value.startsWith("1");
}

document.addEventListener("click", event => {
  const button = event.target.closest("[data-test], [data-list]");
  if (!button) return;
  event.preventDefault();
  button.matches("[data-test]") ? trial(button) : list(button);
});

// The models of an account, for the field of their name.
async function list(button) {
  const listed = find("[data-listed]", button.closest(".then")), form = button.form;
  const body = new URLSearchParams(new FormData(form, button));
  listed.replaceChildren(Object.assign(document.createElement("p"), { className: "small faint", textContent: "Asking it." }));
  button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { "X-Partial": "1" } });
    const made = document.createElement("template");
    made.innerHTML = answer.ok ? await answer.text() : "";
    listed.replaceChildren(made.content);
    putBeside(form, listed);
    if (!answer.ok) listed.textContent = "It could not be asked just now. Nothing was changed.";
  } catch {
    listed.textContent = "The server cannot be reached. Nothing was changed.";
  }
  button.disabled = false;
}

// An account that people know: its address, and then the key. A key typed for another address does not go there.
document.addEventListener("click", event => {
  const known = event.target.closest("[data-address]");
  if (!known) return;
  const field = find("#openai_address");
  if (field.value !== known.dataset.address) find("#openai_key").value = "";
  field.value = known.dataset.address;
  for (const place of ["[data-tested]", "[data-listed]"]) find(place, known.closest(".then")).replaceChildren();
  find("#openai_key").focus();
});

document.addEventListener("click", event => {
  const chosen = event.target.closest("[data-model]");
  if (!chosen) return;
  const field = find("input[name$=_model]", chosen.closest(".then"));
  field.value = chosen.dataset.model;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
});

document.addEventListener("submit", async event => {
  const { target: form, submitter } = event;
  const chosen = find("[name=model]:checked", form);
  const button = chosen && find("[data-test]", chosen.closest(".choice"));
  if (!button || chosen.value === "keep" || ["skip", "look"].includes(submitter?.value)) return;
  if (find("[name=tested]", placeOf(button))) return;
  event.preventDefault();
  if (await trial(button)) form.requestSubmit(submitter);
});

document.addEventListener("input", ({ target }) => {  // another address or name has not been tried
  const then = target.closest(".then");
  if (then) find("[data-tested]", then)?.replaceChildren();
  if (!target.matches("[aria-invalid]")) return;
  target.removeAttribute("aria-invalid");
  find(`#bad-${target.id}`)?.remove();
});

document.documentElement.classList.add("js");  // the first minute has no frame that says so
