// Search as you type; without a question, the latest memories.
import { html, useAnswer, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";
import { get, post } from "./api.js";
import { Filters, Mode, filtersOf, narrowed, rankingOf, wanted } from "./filters.js";
import { askToAdd } from "./forms.js";
import { minute, percent, several } from "./format.js";
import { Hit } from "./hit.js";
import { onKey, settle, step } from "./keys.js";
import { PreviewLine, Said, Trouble, Waiting } from "./parts.js";
import { go, place, within } from "./route.js";
import { rights } from "./rights.js";

const REST = 140;
const AT_ONCE = 10;
const LATEST = 20;
const MOST = 200;
const CONFIDENCE = {
  strong: "The answer is very likely among these",
  weak: "The answer may be among these",
  none: "Probably nothing here answers that; these come nearest",
};

const set = (changes, options) => go({ view: "search", query: { ...place.get().query, ...changes } }, options);
const now = { replace: true };

/** Typing is no use of a memory: what is found is not reinforced. */
function recall(query, signal) {
  const body = {
    query: query.q, limit: wanted(query, AT_ONCE, MOST), reinforce: false, ...filtersOf(query), ...rankingOf(query),
    include_documents: query.documents ? true : undefined,
  };
  return post("/v1/recall", body, within(), signal);
}

async function latest(query, signal) {
  const filters = filtersOf(query);
  const kind = query.documents ? ["memory", "passage"] : undefined;
  const limit = wanted(query, LATEST, MOST);
  return { latest: await get("/v1/memories", within({ ...filters, kind, limit }), signal) };
}

function useKeys(input) {
  useLayoutEffect(() => {
    const why = () => {
      const button = document.activeElement?.closest(".hit")?.querySelector(".why-button");
      if (button) button.click();
      else set({ why: place.get().query.why ? "" : "1" }, now);
    };
    const ends = [
      onKey("find", () => input.current?.select()),
      onKey("why", why),
    ];
    return () => ends.forEach((end) => end());
  }, []);
}

function Time({ time }) {
  if (!time) return null;
  const bounds = `${time.start ? minute(time.start) : "…"} to ${time.end ? minute(time.end) : "…"}`;
  const effect = time.origin === "given" ? "only" : "read in the question; others count less";
  return html`<p class="muted">${time.phrase && html`<q><${Said} text=${time.phrase} /></q> `}${bounds} (${effect})</p>`;
}

function Hits({ answer, query }) {
  const { hits } = answer;
  if (!hits.length) return html`<div class="empty">
    <p>Nothing was found${narrowed(query).length ? " within this time and scope" : ""}.</p></div>`;
  const more = hits.length >= wanted(query, AT_ONCE, MOST) && hits.length < MOST;
  return html`<ol class="hits" role="list" aria-label="Memories that were found">
      ${hits.map((hit, above) => html`<${Hit} key=${hit.memory.id} hit=${hit} rank=${above + 1} explain=${Boolean(query.why)} />`)}
    </ol>
    ${more && html`<button class="quiet more" onClick=${() => set({ n: hits.length + AT_ONCE }, now)}>More</button>`}`;
}

/** What a recall says of itself. */
function Summary({ answer, query }) {
  const { hits } = answer;
  return html`<div class="summary">
    ${hits.length > 0 && html`<p data-confidence=${answer.confidence} class="confidence">
      ${CONFIDENCE[answer.confidence]} <span class="muted">(${percent(answer.likelihood)})</span></p>`}
    ${answer.notes.map((note) => html`<p class="muted"><${Said} text=${note} /></p>`)}
    <${Time} time=${answer.timeframe} />
    ${hits.length > 0 && html`<label class="choice">
      <input type="checkbox" checked=${Boolean(query.why)} onChange=${() => set({ why: query.why ? "" : "1" }, now)} />
      <span>explain the scores</span></label>`}
  </div>`;
}

function FirstStep() {
  const { write } = rights.use();
  return html`<div class="empty">
    <h2>Nothing is remembered here yet</h2>
    <p>A memory is a text: a decision, a fact, how something is done, what somebody said.</p>
    ${write
      ? html`<p><button class="main" onClick=${() => askToAdd()}>Add the first one</button></p>`
      : html`<p class="muted">This token may only read; another one can add memories.</p>`}
    <p class="muted">From the shell: <code>recollect add "The API listens on port 9090"</code></p>
  </div>`;
}

function Latest({ answer, query }) {
  const { items, next } = answer.latest;
  if (!items.length && !narrowed(query).length) return html`<${FirstStep} />`;
  if (!items.length) return html`<div class="empty"><p>Nothing was remembered within this time and scope.</p></div>`;
  return html`<h2 class="quiet-title">Latest</h2>
    <ol class="hits plain" role="list" aria-label="The latest memories">
      ${items.map((item) => html`<${PreviewLine} key=${item.id} item=${item} />`)}
    </ol>
    ${next && items.length < MOST && html`<button class="quiet more" onClick=${() => set({ n: items.length + LATEST }, now)}>More</button>`}`;
}

function Results({ answer, problem, busy, query }) {
  return html`<section class=${busy ? "results busy" : "results"} aria-label="Results" aria-busy=${busy}>
    <p class="unseen" role="status">${answer?.hits && !busy ? `${several(answer.hits.length, "memory", "memories")} found.` : ""}</p>
    ${problem && html`<${Trouble} problem=${problem} />`}
    ${!answer && !problem && html`<${Waiting} />`}
    ${answer?.hits && html`<${Summary} answer=${answer} query=${query} /><${Hits} answer=${answer} query=${query} />`}
    ${answer?.latest && html`<${Latest} answer=${answer} query=${query} />`}
  </section>`;
}

/** What stands in the field: it goes into the address once it rests, and follows the address when that changes. */
function useTyped() {
  const [text, setText] = useState(place.get().query.q ?? "");
  const timer = useRef();
  const settled = () => clearTimeout(timer.current);
  const type = (value) => {
    setText(value);
    settled();
    timer.current = setTimeout(() => set({ q: value, n: "" }, now), REST);
  };
  useLayoutEffect(() => {
    const arrived = () => {
      settled();
      setText(place.get().query.q ?? "");
    };
    addEventListener("hashchange", arrived);
    return () => {
      settled();
      removeEventListener("hashchange", arrived);
    };
  }, []);
  return [text, type, settled];
}

export function Search() {
  const { query } = place.use();
  const input = useRef();
  const [text, type, settled] = useTyped();
  useKeys(input);
  const change = (changes) => {
    settled();
    set({ q: text, n: "", ...changes });
  };
  const shown = useRef(false);
  const asked = query.q?.trim() ? recall : latest;
  const { why, ...about } = query;
  const { answer, problem, busy: asking } = useAnswer((signal) => asked(query, signal), about);
  const busy = asking || text !== (query.q ?? "");
  useEffect(() => {
    if (shown.current || !answer) return;
    shown.current = true;
    settle(matchMedia("(hover: hover)").matches ? input.current : null);
  }, [answer]);
  const toHits = (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    step(".opens", 1);
  };
  return html`<div class="search">
    <h1 class="unseen">Search</h1>
    <search class="ask">
      <input ref=${input} id="q" type="search" autocomplete="off" spellcheck=${false} dir="auto" value=${text}
        placeholder="What do you want to know?" aria-label="Search the memories" aria-keyshortcuts="/"
        onInput=${(event) => type(event.currentTarget.value)} onKeyDown=${toHits} />
      <${Mode} query=${query} set=${change} />
    </search>
    <${Filters} query=${query} set=${change} />
    <${Results} answer=${answer} problem=${problem} busy=${busy} query=${query} />
  </div>`;
}
