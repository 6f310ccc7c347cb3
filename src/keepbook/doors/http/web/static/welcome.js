// The first minute: the zone that this browser knows, sentences that are begun, and Ctrl or Cmd with Enter.

const find = what => document.querySelector(what);
const zone = find("#zone");
const first = find("#first");
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

function clock() {
  const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone.value }).format(new Date());
  const city = zone.value.split("/").at(-1).replaceAll("_", " ");
  find("#zone-hint").textContent = `${city}, ${time}${zone.value === here ? ", as this computer says" : ""}`;
  find("[data-zone]").value = zone.value;
}

if (zone.matches("[data-take]") && here) {
  if (![...zone.options].some(option => option.value === here)) zone.add(new Option(here));
  zone.value = here;
}
clock();
zone.addEventListener("change", clock);

function toFirstGap() {
  const gap = first.value.indexOf("…");
  first.focus();
  if (gap >= 0) first.setSelectionRange(gap, gap + 1);
}

document.addEventListener("click", event => {
  const starter = event.target.closest("[data-begin]");
  if (!starter || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  first.value = starter.dataset.begin;
  toFirstGap();
});

first.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) first.form.requestSubmit(find("[value=write]"));
});

const wide = matchMedia("(min-width: 820px)").matches; // on a phone the keyboard would hide the page
const untouched = first.value === first.defaultValue && [document.body, first].includes(document.activeElement);
if (untouched && first.value) toFirstGap();
else if (untouched && wide && !location.hash) first.focus();
