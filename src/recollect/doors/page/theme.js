// Light, dark, or as the system says.
import { html, useState } from "./ui.js";

const KEPT = "recollect.theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SIGN = { auto: "◐", light: "○", dark: "●" };

/** Put the chosen colours in force; unknown means as the system says. */
export function applyTheme(name = localStorage.getItem(KEPT)) {
  const theme = name in NEXT ? name : "auto";
  document.documentElement.dataset.theme = theme;
  return theme;
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme);
  const turn = () => {
    localStorage.setItem(KEPT, NEXT[theme]);
    setTheme(applyTheme(NEXT[theme]));
  };
  const title = `Colours: ${theme === "auto" ? "as the system says" : theme}. Change to ${NEXT[theme]}.`;
  return html`<button class="quiet icon" onClick=${turn} title=${title} aria-label=${title}>${SIGN[theme]}</button>`;
}
