// Short messages, and the way back: what was done can be undone, from the message or with a key.
import { html, shared, useEffect, useLayoutEffect, useRef } from "./ui.js";
import { onKey } from "./keys.js";

const STAY = 12_000;
const MOST_KEPT = 30;
const toasts = shared([]);
const done = [];
let count = 0;

/** Say something; `undo` takes it back, `more` is a link: { href, text }. */
export function say(text, { undo = null, more = null, trouble = false } = {}) {
  const toast = { number: ++count, text, undo, more, trouble };
  if (undo) {
    done.push(toast);
    done.splice(0, done.length - MOST_KEPT);
  }
  toasts.set((shown) => [...shown.slice(-2), toast]);
}

/** Say what went wrong. */
export const complain = (problem) => say(problem.message, { trouble: true });

function close(number) {
  toasts.set((shown) => shown.filter((toast) => toast.number !== number));
}

async function takeBack(toast) {
  close(toast.number);
  const place = done.indexOf(toast);
  if (place < 0) return;
  done.splice(place, 1);
  try {
    say(await toast.undo());
  } catch (problem) {
    complain(problem);
  }
}

function Toast({ toast }) {
  const element = useRef();
  useEffect(() => {
    const watched = setInterval(() => {
      if (!element.current?.matches(":hover, :focus-within")) close(toast.number);
    }, STAY);
    return () => clearInterval(watched);
  }, [toast.number]);
  return html`<div class=${toast.trouble ? "toast trouble" : "toast"} ref=${element}>
    <p dir="auto">${toast.text}</p>
    ${toast.more && html`<a href=${toast.more.href}>${toast.more.text}</a>`}
    ${toast.undo && html`<button class="undo" onClick=${() => takeBack(toast)}>Undo</button>`}
    <button class="quiet icon" aria-label="Close" onClick=${() => close(toast.number)}>×</button>
  </div>`;
}

/** Where they are shown; read out as they come. */
export function Toasts() {
  const shown = toasts.use();
  useLayoutEffect(() => onKey("undo", () => (done.length ? takeBack(done.at(-1)) : say("There is nothing to undo."))), []);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map((toast) => html`<${Toast} key=${toast.number} toast=${toast} />`)}
  </div>`;
}
