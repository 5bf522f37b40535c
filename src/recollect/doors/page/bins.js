// Days in bins: as fine as there is room for.
export const DAY = 86_400_000;
const MOST = 110;

const dayOf = (name) => Date.parse(`${name}T00:00:00Z`);

/** The beginning of the bin that a moment lies in, and that of the next one, for every size of bin. */
const SIZES = [
  ["day", (time) => time - (time % DAY), (start) => start + DAY],
  ["week", (time) => time - ((time - 4 * DAY) % (7 * DAY)), (start) => start + 7 * DAY],
  ["month", (time) => floor(time, 1), (start) => ahead(start, 1)],
  ["quarter", (time) => floor(time, 3), (start) => ahead(start, 3)],
  ["year", (time) => floor(time, 12), (start) => ahead(start, 12)],
];

function floor(time, months) {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - (date.getUTCMonth() % months), 1);
}

function ahead(start, months) {
  const date = new Date(start);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
}

/** { "2026-03-01": { semantic: 2 } } as { size, bins: [{ from, to, counts, total }] }, without gaps. */
export function binned(days) {
  const names = Object.keys(days).sort();
  if (!names.length) return { size: "day", bins: [] };
  const [first, last] = [dayOf(names[0]), dayOf(names.at(-1))];
  const long = (last - first) / DAY;
  const [size, begin, next] = SIZES[long < MOST ? 0 : long < 7 * MOST ? 1 : long < 30 * MOST ? 2 : long < 91 * MOST ? 3 : 4];
  const bins = [];
  for (let from = begin(first); from <= last; from = next(from)) bins.push({ from, to: next(from), counts: {}, total: 0 });
  let place = 0;
  for (const name of names) {
    while (bins[place].to <= dayOf(name)) place++;
    for (const [sector, count] of Object.entries(days[name])) {
      bins[place].counts[sector] = (bins[place].counts[sector] ?? 0) + count;
      bins[place].total += count;
    }
  }
  return { size, bins };
}

/** The name of a day, as the address has it. */
export const dayName = (time) => new Date(time).toISOString().slice(0, 10);
export const dayTime = dayOf;
