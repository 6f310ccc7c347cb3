// Bringing in: a file may be dropped, choosing one looks at it at once, and the button counts what is taken.
import { all, find } from "./shell.js";

const file = find("#file");
const form = file?.form;
const look = () => form.requestSubmit(find("[value=look]", form));

const chosen = () => {
  const most = Number(file.dataset.most ?? Infinity);
  const fits = [...file.files].every(one => one.size <= most);
  file.setCustomValidity(fits ? "" : `This file is larger than ${Math.floor(most / 1e6)} MB. Bring it in with ${file.dataset.else}.`);
  if (file.reportValidity() && file.files.length) look();
};
file?.addEventListener("change", chosen);
if (file?.files.length) chosen(); // before this script was there
for (const whose of all(".whose select")) {
  whose.addEventListener("change", () => { if (whose.value) look(); });
  if (whose.value && !whose.selectedOptions[0].defaultSelected) look(); // chosen before this script was there
}

const drop = find("[data-drop]");
drop?.addEventListener("dragover", event => event.preventDefault());
drop?.addEventListener("drop", event => {
  event.preventDefault();
  if (!event.dataTransfer.files.length) return;
  file.files = event.dataTransfer.files;
  file.dispatchEvent(new Event("change"));
});

const load = find("[data-load]");
const beyond = load ? Number(load.textContent.replace(/\D/g, "")) - all("[name=take]:checked").length : 0;
form?.addEventListener("change", ({ target }) => {
  if (!load || target.name !== "take") return;
  const count = all("[name=take]:checked").length + beyond;
  const [one, many] = load.dataset.load.split(" ");
  load.textContent = `Bring in ${count.toLocaleString("en")} ${(count === 1 ? one : many) ?? ""}`.trim();
  load.disabled = !count;
});
