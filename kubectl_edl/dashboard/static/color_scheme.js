// The switch of colours: as the system, light, dark, and round again.

const NEXT = { "": "light", light: "dark", dark: "" };
const WORDS = { "": "as the system", light: "light", dark: "dark" };

export function colours(button) {
  const root = document.documentElement;
  const show = () => {
    button.textContent = `Colours: ${WORDS[root.dataset.theme ?? ""]}`;
  };
  button.addEventListener("click", () => {
    const chosen = NEXT[root.dataset.theme ?? ""];
    if (chosen) root.dataset.theme = chosen;
    else delete root.dataset.theme;
    remember(chosen);
    show();
  });
  show();
}

function remember(chosen) {
  try {
    if (chosen) localStorage.setItem("edl-theme", chosen);
    else localStorage.removeItem("edl-theme");
  } catch {
    // Storage may be forbidden: then nothing is remembered.
  }
}
