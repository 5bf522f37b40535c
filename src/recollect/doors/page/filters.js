// What may answer: the controls of mode, time and scope. Their state is the address.
import { html, useEffect, useState, useAnswer } from "./ui.js";
import { get } from "./api.js";
import { SECTORS, number } from "./format.js";
import { rights } from "./rights.js";

const MODES = { "": "words and meaning", auto: "as the question suggests", keyword: "words alone", semantic: "meaning alone" };
const FUSIONS = { "": "mix", rrf: "rrf", weighted: "weighted", rerank: "rerank", fallback: "fallback" };
const FACTORS = ["similarity", "importance", "recency"];
const TIMES = ["today", "yesterday", "this week", "last week", "this month", "last month", "last 90 days", "this year"];
const NAMES = ["when", "since", "until", "as_of", "sector", "tag", "session", "speaker", "documents", "superseded"];

const nextDay = (day) => new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text ?? "") && !Number.isNaN(Date.parse(text));
const one = (value) => (value ? [value] : undefined);

/** Whether anything narrows what may answer. */
export const narrowed = (query) => NAMES.filter((name) => query[name]?.length);

/** The address as filters of the API. Days are whole days in UTC, the last one included. */
export function filtersOf(query) {
  return {
    timeframe: query.when,
    since: isDay(query.since) ? query.since : undefined,
    until: isDay(query.until) ? nextDay(query.until) : undefined,
    as_of: isDay(query.as_of) ? query.as_of : undefined,
    sector: query.sector?.filter((sector) => SECTORS.includes(sector)),
    tags: query.tag,
    session: one(query.session),
    speaker: one(query.speaker),
    include_superseded: query.superseded ? true : undefined,
  };
}

/** How many are asked for: what the address says, within reason. */
export function wanted(query, least, most) {
  return Math.min(most, Math.max(least, Math.floor(Number(query.n)) || least));
}

/** The rest of what a recall takes. */
export function rankingOf(query) {
  const known = (value, choices) => (value && value in choices ? value : undefined);
  const order = query.order?.filter((factor) => FACTORS.includes(factor));
  return { mode: known(query.mode, MODES), fusion: known(query.fusion, FUSIONS), rerank: order?.length ? order : undefined };
}

/** A field that takes effect when it is left or Enter is pressed: half a word is no filter. */
function Settled({ value = "", onSettle, ...given }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const settle = () => text.trim() !== value && onSettle(text.trim());
  return html`<input ...${given} value=${text} onInput=${(event) => setText(event.currentTarget.value)}
    onChange=${settle} onKeyDown=${(event) => event.key === "Enter" && settle()} />`;
}

const Choice = ({ name, checked, onChange, children }) => html`<label class="choice">
  <input type="checkbox" name=${name} checked=${checked} onChange=${onChange} /><span>${children}</span>
</label>`;

function Time({ query, set }) {
  const day = (name, title) => html`<label class="field"><span>${title}</span>
    <input type="date" name=${name} value=${isDay(query[name]) ? query[name] : ""} onChange=${(event) => set({ [name]: event.currentTarget.value })} /></label>`;
  return html`<fieldset>
    <legend>Time</legend>
    <label class="field"><span>In words</span>
      <${Settled} name="when" list="times" placeholder="last week" value=${query.when} onSettle=${(when) => set({ when })} />
    </label>
    <datalist id="times">${TIMES.map((time) => html`<option value=${time}></option>`)}</datalist>
    <div class="columns tight">${day("since", "From")}${day("until", "To")}</div>
    ${day("as_of", "Believed on")}
  </fieldset>`;
}

function Scope({ query, set }) {
  const toggle = (name, value) => () => {
    const chosen = query[name] ?? [];
    set({ [name]: chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value] });
  };
  const tags = (text) => set({ tag: text.split(",").map((tag) => tag.trim()).filter(Boolean) });
  const text = (name, title) => html`<label class="field"><span>${title}</span>
    <${Settled} name=${name} value=${query[name]} onSettle=${(value) => set({ [name]: value })} /></label>`;
  return html`<fieldset>
      <legend>Sectors</legend>
      ${SECTORS.map((sector) => html`<${Choice} name=${sector} checked=${query.sector?.includes(sector)} onChange=${toggle("sector", sector)}>
        <span class="sector" data-sector=${sector}>${sector}</span><//>`)}
    </fieldset>
    <fieldset>
      <legend>Scope</legend>
      <label class="field"><span>Tags <small class="muted">(all of them)</small></span>
        <${Settled} name="tags" value=${(query.tag ?? []).join(", ")} onSettle=${tags} /></label>
      ${text("session", "Session")}${text("speaker", "Speaker")}
      <${Choice} name="documents" checked=${query.documents} onChange=${() => set({ documents: query.documents ? "" : "1" })}>documents too<//>
      <${Choice} name="superseded" checked=${query.superseded} onChange=${() => set({ superseded: query.superseded ? "" : "1" })}>superseded too<//>
    </fieldset>
    <fieldset>
      <legend>Ranking</legend>
      <label class="field"><span>Fusion</span>
        <select name="fusion" value=${query.fusion ?? ""} onChange=${(event) => set({ fusion: event.currentTarget.value })}>
          ${Object.entries(FUSIONS).map(([value, title]) => html`<option value=${value}>${title}</option>`)}
        </select></label>
      <p class="muted">Reorder by</p>
      ${FACTORS.map((factor) => html`<${Choice} name=${factor} checked=${query.order?.includes(factor)} onChange=${toggle("order", factor)}>${factor}<//>`)}
    </fieldset>`;
}

export function Mode({ query, set }) {
  return html`<label class="inline"><span class="unseen">Find by</span>
    <select name="mode" title="Find by" value=${query.mode ?? ""} onChange=${(event) => set({ mode: event.currentTarget.value })}>
      ${Object.entries(MODES).map(([value, title]) => html`<option value=${value}>${title}</option>`)}
    </select></label>`;
}

/** The panel beside the hits; folded on a narrow screen. */
export function Filters({ query, set }) {
  const [open, setOpen] = useState(() => matchMedia("(min-width: 60rem)").matches);
  const count = narrowed(query).length;
  const none = Object.fromEntries([...NAMES, "fusion", "order"].map((name) => [name, ""]));
  return html`<details class="filters" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>Time and scope${count ? html` <span class="count">${count}</span>` : ""}</summary>
    <div class="fields">
      <${Time} query=${query} set=${set} />
      <${Scope} query=${query} set=${set} />
      ${count > 0 && html`<button class="quiet" onClick=${() => set(none)}>Clear them all</button>`}
    </div>
  </details>`;
}

/** The namespace: a choice, or the one that the token is bound to. */
export function Namespace({ query, onChoose }) {
  const { bound, namespace } = rights.use();
  const ask = (signal) => (bound ? { items: [] } : get("/v1/namespaces", { limit: 200 }, signal));
  const { answer } = useAnswer(ask, ["namespaces", bound]);
  if (bound) return html`<span class="namespace" title="This token is for one namespace"><bdi>${namespace}</bdi></span>`;
  const chosen = query.ns || namespace;
  if (answer?.next) return html`<label class="inline namespace"><span class="unseen">Namespace</span>
    <${Settled} name="namespace" list="namespaces" title="Namespace" value=${chosen} onSettle=${(name) => onChoose(name)} />
    <datalist id="namespaces">${answer.items.map(({ name }) => html`<option value=${name}></option>`)}</datalist></label>`;
  const counts = new Map((answer?.items ?? []).map((each) => [each.name, each.memories]));
  for (const name of [chosen, namespace]) if (!counts.has(name)) counts.set(name, 0);
  return html`<label class="inline namespace"><span class="unseen">Namespace</span>
    <select name="namespace" title="Namespace" value=${chosen} onChange=${(event) => onChoose(event.currentTarget.value)}>
      ${[...counts].map(([name, count]) => html`<option value=${name}>${name} (${number(count)})</option>`)}
    </select></label>`;
}
