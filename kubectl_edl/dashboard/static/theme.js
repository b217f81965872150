// Before anything is drawn: the colours that were chosen here last; else the system's own.
// A classic script in the head, so that no page flashes in the wrong colours.
(() => {
  try {
    const chosen = localStorage.getItem("edl-theme");
    if (chosen === "light" || chosen === "dark") {
      document.documentElement.dataset.theme = chosen;
    }
  } catch {
    // Storage may be forbidden: then nothing is remembered.
  }
})();
