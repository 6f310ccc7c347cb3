// The words that a page shows to a person, but for the person's own lines and names, and for what is technical by wish:
// what stands under "Precisely" or "As it was sent", and code.
() => {
  const own = `.book, .bubble, .said, .verbatim, .given-lines, .chats, .pinned, [data-title], title, textarea, option,
    .then-line, .heading-own, [data-own], blockquote, .asked, .owner, #precisely, .sent, #as-sent, .well, pre, code, kbd,
    .mono, svg, script, style, template`;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const words = node.data.trim();
    if (words && !node.parentElement.closest(own) && node.parentElement.checkVisibility()) told.push(words);
  }
  for (const node of document.querySelectorAll("[aria-label], [placeholder], [title]")) {
    if (node.closest(own) || !node.checkVisibility()) continue;
    for (const name of ["aria-label", "placeholder", "title"]) if (node.hasAttribute(name)) told.push(node.getAttribute(name));
  }
  return told;
}
