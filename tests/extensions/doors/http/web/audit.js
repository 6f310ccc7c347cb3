// What is wrong with a page as it stands, in words. Evaluated in the page by test_checks.py.
// Overflow, contrast of every text (AA), size of type and targets, names, labels, headings, ids, focus, style attributes.
// `widths` alone: what fonts can change. `colours` alone: what night can change.
only => {
  const widths = only === "widths";
  const out = [];
  const width = innerWidth;
  const page = document.scrollingElement;
  const every = what => [...document.querySelectorAll(what)];
  const classes = e => String(e.className?.baseVal ?? e.className ?? "").trim().split(/\s+/).filter(Boolean);
  const name = e => `${[e.tagName.toLowerCase(), ...classes(e)].join(".")} “${(e.textContent || "").trim().slice(0, 28)}”`;
  const shown = e => {
    if (!e.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true })) return false;
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.height > 1;
  };
  const clipped = e => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) {
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX)) return true;
    }
    return false;
  };

  // Nothing is wider than the screen.
  if (page.scrollWidth > width) {
    const wide = every("body *").filter(e => e.getBoundingClientRect().right > width + 1 && !clipped(e));
    out.push(`the page is ${page.scrollWidth} wide in ${width}: ${wide.slice(0, 3).map(name).join(", ")}`);
  }

  // Every text can be read.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const seen = new Map();
  const rgb = colour => {
    if (!seen.has(colour)) seen.set(colour, painted(colour));
    return seen.get(colour);
  };
  const painted = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "#000";
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (front, back) => front.slice(0, 3).map((v, i) => v * front[3] + back[i] * (1 - front[3]));
  const linear = v => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ratio = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((m, n) => n - m);
    return (high + 0.05) / (low + 0.05);
  };
  const grounds = new Map();
  const ground = e => {
    if (!grounds.has(e)) grounds.set(e, groundOf(e));
    return grounds.get(e);
  };
  const groundOf = e => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) {
      const colour = rgb(getComputedStyle(p).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] > 0.99) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const unread = ".sr, .skip, script, style, option, title, desc, :disabled, [aria-disabled=true]";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const e = text.parentElement;
    if (!text.data.trim() || !shown(e) || e.closest(unread)) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const right = range.getBoundingClientRect().right;
    if (right > width + 1 && !clipped(e)) out.push(`text past the edge (${Math.round(right)}): ${name(e)}`);
    if (range.getBoundingClientRect().left < -1 && !clipped(e)) out.push(`text before the edge: ${name(e)}`);
    if (widths) continue;
    const style = getComputedStyle(e);
    const svg = e.closest("svg");
    const on = svg && e.dataset.on && document.querySelector(e.dataset.on);
    const back = on ? rgb(getComputedStyle(on).fill).slice(0, 3) : ground(svg ? svg.parentElement : e);
    const front = over(rgb(svg ? style.fill : style.color), back);
    const px = parseFloat(style.fontSize);
    const need = px >= 24 || (px >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const has = ratio(front, back);
    if (has < need) out.push(`contrast ${has.toFixed(2)} < ${need}: ${name(e)}`);
    if (px < 12) out.push(`type of ${px} px: ${name(e)}`);
  }

  if (only === "colours") return [...new Set(out)];

  // Everything that is pressed is large enough, and fits where it stands.
  for (const e of every("button, summary, input, select, textarea, a.btn, nav a, .tabs a")) {
    if (!shown(e) || e.closest("dialog:not([open])")) continue;
    const box = (e.closest("label") || e).getBoundingClientRect();
    if (box.height < 23.5 || box.width < 23.5) {
      out.push(`a target of ${Math.round(box.width)} × ${Math.round(box.height)}: ${name(e)}`);
    }
  }
  for (const e of every("input, select, textarea, button, .mark, .pill")) {
    let parent = e.parentElement; // the nearest that has a box
    while (getComputedStyle(parent).display === "contents") parent = parent.parentElement;
    if (!shown(e) || clipped(e) || getComputedStyle(parent).display === "inline") continue;
    const past = e.getBoundingClientRect().right - parent.getBoundingClientRect().right;
    if (past > 2) out.push(`wider than its parent by ${Math.round(past)}: ${name(e)}`);
  }

  if (widths) return [...new Set(out)];

  // Everything has a name.
  for (const e of every("button, a[href], summary")) {
    if (!(e.textContent.trim() || e.getAttribute("aria-label"))) out.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  }
  for (const e of every("input:not([type=hidden]), select, textarea")) {
    if (!(e.labels?.length || e.getAttribute("aria-label") || e.getAttribute("aria-labelledby"))) {
      out.push(`no label: ${e.outerHTML.slice(0, 80)}`);
    }
  }
  for (const e of every("svg")) {
    const told = e.getAttribute("role") === "img" && (e.getAttribute("aria-label") || e.querySelector("title"));
    if (!e.closest("svg svg") && e.getAttribute("aria-hidden") !== "true" && !told) {
      out.push(`a picture without a name: ${e.outerHTML.slice(0, 60)}`);
    }
  }

  // Headings make sense, ids are unique and point somewhere.
  if (every("h1").length !== 1) out.push(`${every("h1").length} first headings`);
  let level = 1;
  for (const h of every("main h1, main h2, main h3, main h4")) {
    const now = Number(h.tagName[1]);
    if (now > level + 1) out.push(`heading jump to h${now}: ${h.textContent}`);
    level = now;
  }
  const ids = new Set();
  for (const e of every("[id]")) {
    if (ids.has(e.id)) out.push(`the id ${e.id} twice`);
    ids.add(e.id);
  }
  for (const a of ["aria-labelledby", "aria-describedby", "aria-controls", "popovertarget", "for"]) {
    for (const e of every(`[${a}]`)) {
      for (const id of e.getAttribute(a).split(/\s+/)) if (id && !ids.has(id)) out.push(`${a}=${id} points nowhere`);
    }
  }
  for (const e of every("[style]")) out.push(`style attribute: ${e.outerHTML.slice(0, 60)}`);

  // The focus can be seen wherever it goes. A field that shows it on its frame is as good.
  const before = document.activeElement;
  for (const e of every("a[href], button, input:not([type=hidden]), select, textarea, summary")) {
    if (!shown(e) || e.disabled) continue;
    e.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement !== e) continue;
    const style = getComputedStyle(e);
    const frame = e.closest(".composer, .palette > form, .first-line");
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    if (!outlined && !(frame && getComputedStyle(frame).boxShadow !== "none")) out.push(`focus not seen: ${name(e)}`);
  }
  before?.focus?.({ preventScroll: true });
  return [...new Set(out)];
}
