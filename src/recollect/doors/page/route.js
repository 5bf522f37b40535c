// Where we are: the view and its state are the address after #, so that back, reload and sharing work.
import { shared } from "./ui.js";

const LISTS = new Set(["sector", "tag", "order"]);

/** `#/memory/ID?ns=team` as { view, id, query }; lists stay lists. */
export function read(hash) {
  const [path, text = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view, id] = path.split("/", 2).map(decoded);
  const query = {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (LISTS.has(name)) (query[name] ??= []).push(value);
    else query[name] = value;
  }
  return { view: view || "search", id: id || null, query };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view; what is empty is left out. */
export function write({ view, id, query = {} }) {
  const text = new URLSearchParams();
  for (const name of Object.keys(query).sort()) {
    for (const value of [].concat(query[name] ?? [])) if (value !== "" && value !== false) text.append(name, value);
  }
  const path = `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}`;
  return text.size ? `${path}?${text}` : path;
}

export const place = shared(read(location.hash));
addEventListener("hashchange", () => place.set(read(location.hash)));

/** Take up the address as it is now: it was replaced without anybody being told. */
export function arrive() {
  place.set(read(location.hash));
}

/** Go to a view. `replace` leaves no step for the back button: for what changes with every key. */
export function go(target, { replace = false } = {}) {
  const hash = write(target);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  place.set(read(hash));
}

/** The address of a view in the namespace that is being looked at. */
export function link(view, id = null, query = {}) {
  return write({ view, id, query: { ns: place.get().query.ns, ...query } });
}

/** The namespace that was asked for, as a parameter of a request. */
export function within(query = {}) {
  return { ...query, namespace: place.get().query.ns };
}
