// The namespace in numbers: growth, sectors, salience, and what the store is made of.
import { html, useAnswer, useMemo } from "./ui.js";
import { get } from "./api.js";
import { binned } from "./bins.js";
import { Bars, Cumulative, Stacked } from "./charts.js";
import { SECTORS, day, number, size } from "./format.js";
import { Said, Trouble, Waiting } from "./parts.js";
import { within } from "./route.js";
import { rights } from "./rights.js";

async function load(signal) {
  const [stats, growth] = await Promise.all(["/v1/stats", "/v1/growth"].map((path) => get(path, within(), signal)));
  return { stats, growth };
}

const language = (code) => {
  try {
    return new Intl.DisplayNames(undefined, { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
};

function Totals({ stats }) {
  const totals = {
    memories: stats.memories, sessions: stats.sessions, relations: stats.relations, documents: stats.documents,
    passages: stats.passages, superseded: stats.superseded, forgotten: stats.deleted, expired: stats.expired,
  };
  return html`<dl class="totals">${Object.entries(totals).map(([name, count]) => html`<div><dt>${name}</dt><dd>${number(count)}</dd></div>`)}</dl>`;
}

function Store({ stats }) {
  const pending = stats.pending_vectors;
  const facts = {
    "Namespace": html`<${Said} text=${stats.namespace} />`,
    "Embedder": stats.embedder ? html`<${Said} text=${stats.embedder} />` : "none: words alone are searched",
    "Vectors": `${number(stats.vectors)}${pending ? `, ${number(pending)} still to be made` : ", none missing"}`,
    "From": stats.first && `${day(stats.first)} to ${day(stats.last)}`,
    "Size of the store": size(stats.bytes),
    "Weights": stats.tuned ? `meaning ${stats.tuned.semantic}, words ${stats.tuned.keyword}` : "as they come",
    "Version": rights.use().version,
  };
  return html`<dl class="all-facts">
    ${Object.entries(facts).filter(([, value]) => value).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>${stats.notes.map((note) => html`<p class="notice"><${Said} text=${note} /></p>`)}`;
}

export function Stats() {
  const { answer, problem } = useAnswer(load, "stats");
  const { size: step, bins } = useMemo(() => binned(answer?.growth.days ?? {}), [answer]);
  if (!answer) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Waiting} />`;
  const { stats, growth } = answer;
  const sectors = SECTORS.map((sector) => [sector, stats.sectors[sector] ?? 0]);
  const salience = growth.salience.map((count, tenth) => [`${10 * tenth}–${10 * tenth + 10} %`, count]);
  const languages = Object.entries(stats.languages).sort((one, other) => other[1] - one[1]).slice(0, 12);
  return html`<div class="stats"><h1>Statistics</h1>
    <${Totals} stats=${stats} />
    <div class="sections">
      ${bins.length > 0 && html`<section><h2>Growth</h2><${Cumulative} bins=${bins} /></section>
        <section><h2>New memories</h2><${Stacked} bins=${bins} size=${step} /></section>`}
      <section><h2>Sectors</h2><${Bars} rows=${sectors} sectors /></section>
      <section><h2>Salience</h2><${Bars} rows=${salience} /></section>
      <section><h2>Languages</h2><${Bars} rows=${languages.map(([code, count]) => [language(code), count])} /></section>
      <section><h2>Store</h2><${Store} stats=${stats} /></section>
    </div>
  </div>`;
}
