// The trial of a model without leaving the page: what it found stands under the button that asked.

document.addEventListener("click", async event => {
  const button = event.target.closest("[data-test]");
  if (!button) return;
  event.preventDefault();
  const tested = button.closest(".then").querySelector("[data-tested]");
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
