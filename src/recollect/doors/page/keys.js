// The keyboard: which key does what, and who is told. docs/page.md lists the same keys; a test compares them.
import { hear, tell } from "./ui.js";

/** [the keys, the name of what happens, what it does]. */
export const KEYS = [
  ["/", "find", "Write in the search field"],
  ["j", "next", "To the next memory (or ↓)"],
  ["k", "previous", "To the previous memory (or ↑)"],
  ["Enter", "open", "Open the memory"],
  ["w", "why", "Show or hide the parts of its score"],
  ["a", "add", "Add a memory"],
  ["s", "supersede", "Supersede the memory"],
  ["r", "relate", "Relate the memory to another"],
  ["x", "forget", "Forget the memory; it can be undone"],
  ["u", "undo", "Undo the last change"],
  ["g s", "go-search", "Go to the search"],
  ["g t", "go-timeline", "Go to the time line"],
  ["g n", "go-stats", "Go to the statistics, the numbers"],
  ["?", "help", "Show these keys"],
  ["Esc", "leave", "Close a dialog, leave a field"],
];

const SAME = { ArrowDown: "j", ArrowUp: "k", Escape: "Esc" };
const BY_KEY = new Map(KEYS.map(([keys, name]) => [keys, name]));
const LEFT_TO_THE_BROWSER = new Set(["Enter", "Esc"]);
let before = "";

/** Call `then` when the key of that name is pressed. */
export const onKey = (name, then) => hear(`key:${name}`, then);

function isField(element) {
  return element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const target = event.target;
  if (isField(target)) {
    if (event.key === "Escape" && !target.closest("dialog")) target.blur();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  const key = SAME[event.key] || event.key;
  const name = BY_KEY.get(before ? `${before} ${key}` : key);
  before = !before && key === "g" ? "g" : "";
  if (!name || LEFT_TO_THE_BROWSER.has(key)) return;
  event.preventDefault();
  tell(`key:${name}`);
}

addEventListener("keydown", pressed);

let left = null;

/** Remember which memory was opened, so that the way back leads to its line. */
export function leaveFor(id) {
  left = id;
}

/** The focus, when nothing has it: on the line that was left, else on what is given. */
export function settle(element) {
  if (document.activeElement !== document.body) return;
  const line = left && [...document.querySelectorAll("[data-id]")].find((each) => each.dataset.id === left);
  const target = line?.querySelector(".opens") ?? element;
  if (line) left = null;
  target?.focus({ preventScroll: !line });
}

/** Move the focus among the elements that match, one forward (1) or back (-1); the ends hold. */
export function step(selector, by) {
  const all = [...document.querySelectorAll(selector)];
  const at = all.indexOf(document.activeElement.closest("[data-step]")?.querySelector(selector) ?? document.activeElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
  if (next) {
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }
}
