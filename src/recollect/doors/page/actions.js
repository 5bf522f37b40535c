// What changes memories. Each says what it did, and how it is undone.
import { tell } from "./ui.js";
import { memoryPath, post, remove } from "./api.js";
import { label, several, words } from "./format.js";
import { link, within } from "./route.js";
import { complain, say } from "./toast.js";

function finished(text, options = {}) {
  tell("changed");
  say(text, options);
}

/** Whatever is undone: do it, let every view look again, say so. */
function undoing(text, act) {
  return async () => {
    await act();
    tell("changed");
    return text;
  };
}

const hide = (id, ns) => post("/v1/memories/hide", { ids: [id] }, ns);
const restore = (id, ns) => post("/v1/memories/restore", { ids: [id] }, ns);

/** Keep a text; the same text again counts as heard once more. */
export async function add(draft) {
  const ns = within();
  const made = await post("/v1/memories", draft, ns);
  const more = { href: link("memory", made.id), text: "Open" };
  if (made.outcome === "reinforced") {
    finished("That was remembered already; it counts more now.", { more });
  } else {
    const near = made.near_duplicates.length;
    const note = near ? ` It says nearly the same as ${several(near, "other")}.` : "";
    finished(`Remembered.${note}`, { more, undo: undoing("Taken back.", () => hide(made.id, ns)) });
  }
  return made;
}

/** Let a new text take a memory's place. A text that was there already is not hidden when this is undone. */
export async function supersedeByText(old, draft) {
  const ns = within();
  const made = await post("/v1/memories", draft, ns);
  const isNew = made.outcome === "added";
  try {
    await post(memoryPath(old, "/supersede"), { by: made.id }, ns);
  } catch (problem) {
    if (isNew) await hide(made.id, ns);
    throw problem;
  }
  finished("Superseded by the new text.", {
    more: { href: link("memory", made.id), text: "Open" },
    undo: undoing("It holds again.", async () => {
      await remove(memoryPath(old, "/supersede"), ns);
      if (isNew) await hide(made.id, ns);
    }),
  });
}

/** Let a memory that is there take another's place. */
export async function supersedeById(old, by) {
  const ns = within();
  const { new: id } = await post(memoryPath(old, "/supersede"), { by }, ns);
  finished("Superseded.", {
    more: { href: link("memory", id), text: "Open" },
    undo: undoing("It holds again.", () => remove(memoryPath(old, "/supersede"), ns)),
  });
}

/** Take a supersession back. */
export async function unsupersede(old, by) {
  const ns = within();
  await remove(memoryPath(old, "/supersede"), ns);
  finished("It holds again.", {
    undo: undoing("Superseded again.", () => post(memoryPath(old, "/supersede"), { by }, ns)),
  });
}

/** Draw an edge from one memory to another. */
export async function relate(source, target, type) {
  const ns = within();
  const drawn = await post(memoryPath(source, "/relations"), { target, type }, ns);
  const undo = () => remove(memoryPath(drawn.source, "/relations"), { ...ns, target: drawn.target, type: drawn.type });
  finished(`Related: ${words(label(type))}.`, { undo: undoing("The relation is removed.", undo) });
}

/** Remove an edge. */
export async function unrelate({ source, target, type, origin }) {
  const ns = within();
  await remove(memoryPath(source, "/relations"), { ...ns, target, type });
  const undo = () => post(memoryPath(source, "/relations"), { target, type, origin }, ns);
  finished("The relation is removed.", { undo: undoing("The relation is back.", undo) });
}

/** Hide a memory from every recall. It is still kept: undone at once, or restored from its own page later. */
export async function forget(id) {
  const ns = within();
  try {
    await hide(id, ns);
  } catch (problem) {
    complain(problem);
    return;
  }
  const more = { href: link("memory", id), text: "Show it" };
  finished("Forgotten: no search finds it now.", { more, undo: undoing("It is back.", () => restore(id, ns)) });
}

export async function bringBack(id) {
  const ns = within();
  await restore(id, ns);
  finished("It is back.", { undo: undoing("Forgotten again.", () => hide(id, ns)) });
}

/** Remove what is hidden, with all that was derived from it. There is no way back. */
export async function removeForGood(id) {
  const receipt = await remove(memoryPath(id), within());
  const one = (name) => words(name).replace(/ies$/, "y").replace(/s$/, "");
  const parts = Object.entries(receipt).filter(([, count]) => count > 0);
  finished(`Removed for good: ${parts.map(([name, count]) => several(count, one(name), words(name))).join(", ")}.`);
}
