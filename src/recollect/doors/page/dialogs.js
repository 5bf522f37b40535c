// Dialogs: one at a time, with the keyboard kept inside and given back afterwards.
import { html, shared, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";
import { KEYS } from "./keys.js";

const opened = shared(null);

/** Show a dialog: a component that gets `close` and what is given. */
export function show(component, given = {}) {
  opened.set({ component, given, from: document.activeElement });
}

function close() {
  const from = opened.get()?.from;
  opened.set(null);
  if (from?.isConnected) from.focus();
}

/** The dialog that is open, if one is. */
export function Dialogs() {
  const now = opened.use();
  const element = useRef();
  useLayoutEffect(() => {
    if (now && !element.current.open) element.current.showModal();
  }, [now]);
  useEffect(() => {
    addEventListener("hashchange", close);
    return () => removeEventListener("hashchange", close);
  }, []);
  if (!now) return null;
  const outside = (event) => event.target === element.current && close();
  return html`<dialog ref=${element} onClose=${close} onMouseDown=${outside} aria-labelledby="dialog-title">
    <div class="dialog"><${now.component} ...${now.given} close=${close} /></div>
  </dialog>`;
}

/** A form in a dialog: `act` does it; what goes wrong is said in the form, and nothing typed is lost. */
export function Form({ title, action, act, close, danger = false, ready = true, children }) {
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    if (busy || !ready) return;
    setBusy(true);
    try {
      await act();
      close();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const quick = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event);
  return html`<form onSubmit=${submit} onKeyDown=${quick}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
    ${problem && html`<p class="problem" role="alert">${problem.message}</p>`}
    <div class="row end">
      <button type="button" class="quiet" onClick=${close}>Cancel</button>
      <button class=${danger ? "danger" : "main"} disabled=${busy || !ready}>${action}</button>
    </div>
  </form>`;
}

export function Help({ close }) {
  return html`<h2 id="dialog-title">Keys</h2>
    <dl class="keys">
      ${KEYS.map(([keys, , what]) => html`<div>
        <dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${what}</dd>
      </div>`)}
    </dl>
    <p class="muted">In a dialog, <kbd>Ctrl</kbd> <kbd>Enter</kbd> sends the form.</p>
    <div class="row end"><button class="main" onClick=${close}>Close</button></div>`;
}
