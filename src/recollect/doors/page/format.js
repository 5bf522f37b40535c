// Numbers, moments and texts, as people read them.
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const MINUTE = new Intl.DateTimeFormat(undefined, {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
});
const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const UTC_DAY = new Intl.DateTimeFormat(undefined, {
  day: "numeric", month: "short", year: "numeric", timeZone: "UTC",
});
const NUMBER = new Intl.NumberFormat();
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;

export const SECTORS = ["episodic", "semantic", "procedural", "emotional", "reflective"];

export const day = (moment) => DAY.format(new Date(moment));
export const minute = (moment) => MINUTE.format(new Date(moment));
export const hour = (moment) => HOUR.format(new Date(moment));
export const utcDay = (milliseconds) => UTC_DAY.format(new Date(milliseconds));
export const number = (value) => NUMBER.format(value);
export const score = (value) => value.toFixed(3);
export const percent = (value) => `${Math.round(100 * value)} %`;
export const words = (name) => name.replaceAll("_", " ");

/** `1 memory`, `2 memories`. */
export function several(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

export function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit++) bytes /= 1000;
  return `${unit && bytes < 100 ? bytes.toFixed(1) : number(Math.round(bytes))} ${units[unit]}`;
}

/** From when to when; the day is said once where it is the same. */
export function period(start, end) {
  if (!end) return `${minute(start)} – still open`;
  return day(start) === day(end) ? `${minute(start)} – ${hour(end)}` : `${minute(start)} – ${minute(end)}`;
}

/** The beginning of a text, cut between whole characters. */
export function beginning(text, length) {
  const whole = Array.from(text.length > 4 * length ? text.slice(0, 4 * length) : text);
  return whole.length > length || text.length > 4 * length ? `${whole.slice(0, length).join("").trimEnd()}…` : text;
}

/** A short label on one line, for titles and drawings, where marks of direction can't be kept apart. */
export function label(text, length = 40) {
  return beginning(text.replace(UNSEEN, " ").replace(/\s+/g, " ").trim(), length);
}
