// The server: every request goes through here, with the token, and every failure comes out in words.
import { shared, tell } from "./ui.js";

const KEPT = "recollect.token";
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;

/** Whether the server answers at all. */
export const reachable = shared(true);

/** What the server says is wrong: `message` is a sentence. */
class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The token of this tab. It comes in the address, or for a ticket that does; both are taken out of it at once. */
export async function takeToken() {
  const found = /^#(token|ticket)=([^&]+)/.exec(location.hash);
  if (found) {
    history.replaceState(null, "", location.pathname + location.search + "#/search");
    const given = decodeURIComponent(found[2]);
    keepToken(found[1] === "token" ? given : await changed(given));
  }
  return sessionStorage.getItem(KEPT);
}

/** The token that a ticket is good for, once. */
async function changed(ticket) {
  const response = await fetch("/ticket", { method: "POST", headers: { Authorization: `Ticket ${ticket}` } });
  const told = await response.json();
  if (!response.ok) throw new Problem(response.status, told.detail);
  return told.token;
}

export function keepToken(text) {
  sessionStorage.setItem(KEPT, text);
}

export function dropToken() {
  sessionStorage.removeItem(KEPT);
}

function address(path, query) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") given.append(name, each);
    }
  }
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

async function ask(method, path, { query = {}, body, signal } = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEPT) || ""}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const request = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
  let response;
  try {
    response = await fetch(address(path, query), request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    waitForServer();
    throw new Problem(0, "The server does not answer.");
  }
  if (response.ok) return response.json();
  const told = await response.json().catch(() => ({}));
  if (response.status === 401) tell("refused");
  throw new Problem(response.status, told.detail || `The server answered ${response.status}.`);
}

export const get = (path, query, signal) => ask("GET", path, { query, signal });
export const post = (path, body, query, signal) => ask("POST", path, { query, body, signal });
export const remove = (path, query) => ask("DELETE", path, { query });

/** The path of a memory, or of something of it. */
export const memoryPath = (id, more = "") => `/v1/memories/${encodeURIComponent(id)}${more}`;

let tryNow = null;

/** Ask for the server's health, at growing intervals, until it answers. */
async function waitForServer() {
  if (!reachable.get()) return;
  reachable.set(false);
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    await new Promise((resolve) => {
      tryNow = resolve;
      setTimeout(resolve, pause);
    });
    if (await fetch("/health").then((response) => response.ok, () => false)) break;
  }
  reachable.set(true);
  tell("back");
}

/** Do not wait for the next attempt. */
export function tryAgain() {
  if (tryNow) tryNow();
}
