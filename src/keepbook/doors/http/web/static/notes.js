// ⌘/Ctrl Enter saves the note that is being written; the rest of the page is plain links and forms.
document.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
  const form = event.target.closest?.("form[data-save]");
  if (!form) return;
  event.preventDefault();
  form.requestSubmit();
});
