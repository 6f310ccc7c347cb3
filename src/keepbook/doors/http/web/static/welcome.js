// The first steps: the zone that this browser knows.

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
