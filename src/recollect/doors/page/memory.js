// A memory's page: its text, all that is known of it, its history, relations, session and neighbourhood.
import { html, useAnswer, useEffect, useLayoutEffect, useState } from "./ui.js";
import { get, memoryPath } from "./api.js";
import * as actions from "./actions.js";
import { askToRelate, askToRemove, askToSupersede } from "./forms.js";
import { beginning, label, minute, number, percent, several, words } from "./format.js";
import { Graph } from "./graph.js";
import { leaveFor, onKey } from "./keys.js";
import { Facts, Moment, Said, Trouble, Waiting } from "./parts.js";
import { link, within } from "./route.js";
import { rights } from "./rights.js";
import { complain } from "./toast.js";

const AROUND = 6;

/** All that the page shows, asked at once. */
async function load(id, signal) {
  const ns = within();
  const ask = (more, query) => get(memoryPath(id, more), { ...ns, ...query }, signal);
  const [memory, history, nearby, around] = await Promise.all([
    ask(""), ask("/history"), ask("/neighbourhood", { limit: 40 }), ask("/timeline", { before: 4 * AROUND, after: 4 * AROUND }),
  ]);
  return { memory, history, nearby, around };
}

function useKeys(memory) {
  useLayoutEffect(() => {
    if (!memory || memory.kind === "passage" || !rights.get().write) return undefined;
    const ends = [onKey("relate", () => askToRelate(memory))];
    if (!memory.superseded_by) ends.push(onKey("supersede", () => askToSupersede(memory)));
    if (!memory.deleted_at) ends.push(onKey("forget", () => actions.forget(memory.id)));
    return () => ends.forEach((end) => end());
  }, [memory]);
}

function Buttons({ memory }) {
  if (!rights.use().write) return null;
  const now = (act) => () => act().catch(complain);
  if (memory.deleted_at) return html`<div class="row actions">
    <button class="main" onClick=${now(() => actions.bringBack(memory.id))}>Restore</button>
    <button class="quiet danger-text" onClick=${() => askToRemove(memory)}>Remove for good …</button>
  </div>`;
  if (memory.kind === "passage") return null;
  return html`<div class="row actions">
    ${memory.superseded_by
      ? html`<button class="quiet" onClick=${now(() => actions.unsupersede(memory.id, memory.superseded_by))}>Let it hold again</button>`
      : html`<button class="quiet" onClick=${() => askToSupersede(memory)} title="Supersede (s)">Supersede</button>`}
    <button class="quiet" onClick=${() => askToRelate(memory)} title="Relate (r)">Relate</button>
    <button class="quiet" onClick=${() => actions.forget(memory.id)} title="Forget (x)">Forget</button>
  </div>`;
}

/** Everything that is kept of it, by name. */
function AllFacts({ memory }) {
  const when = (moment) => moment && minute(moment);
  const facts = {
    "Id": html`<code>${memory.id}</code>`,
    "Said or written": when(memory.created_at),
    "Changed": memory.updated_at !== memory.created_at && when(memory.updated_at),
    "Used last": when(memory.accessed_at),
    "Used": memory.access_count > 0 && several(memory.access_count, "time"),
    "Sector": memory.sector,
    "Tier": memory.tier,
    "Salience now": percent(memory.salience),
    "Importance": percent(memory.importance),
    "Trust": memory.trust,
    "Language": memory.language,
    "Tokens": number(memory.token_count),
    "Speaker": memory.speaker && html`<${Said} text=${memory.speaker} />`,
    "Session": memory.session && html`<a href=${link("timeline", null, { session: memory.session })}><${Said} text=${memory.session} /></a>`,
    "Source": memory.source && html`<${Said} text=${memory.source} />`,
    "Document": memory.document && html`<${Said} text=${[memory.document, ...memory.headings].join(" › ")} />`,
    "Files": memory.files.length > 0 && memory.files.map((file) => html`<code><${Said} text=${file} /></code> `),
    "Summary": memory.summary && html`<${Said} text=${memory.summary} />`,
    "Valid from": when(memory.valid_from),
    "Valid until": when(memory.valid_until),
    "Expires": when(memory.expires_at),
    "More": Object.keys(memory.metadata).length > 0 && html`<pre dir="auto">${JSON.stringify(memory.metadata, null, 2)}</pre>`,
  };
  return html`<dl class="all-facts">
    ${Object.entries(facts).filter(([, value]) => value).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

const Line = ({ memory, here, clock }) => html`<li class=${memory.superseded_by ? "past" : ""} aria-current=${here ? "true" : null}>
  <${Moment} at=${memory.created_at} clock=${clock} />
  <span>${memory.speaker && html`<strong><${Said} text=${memory.speaker} />: </strong>`}
    ${here ? html`<${Said} text=${beginning(memory.content, 200)} />`
      : html`<a class="opens" href=${link("memory", memory.id)}><${Said} text=${beginning(memory.content, 200)} /></a>`}</span>
</li>`;

function History({ history, memory }) {
  if (history.length < 2) return html`<p class="muted">It superseded nothing, and nothing superseded it.</p>`;
  return html`<ol class="steps">${history.map((each) => html`<${Line} key=${each.id} memory=${each} here=${each.id === memory.id} />`)}</ol>
    <p class="muted">The oldest first; the last one holds.</p>`;
}

function Relations({ memory, nearby }) {
  const { write } = rights.use();
  const texts = new Map(nearby.memories.map((each) => [each.id, each.text]));
  if (!memory.relations.length) return html`<p class="muted">It is related to nothing yet.</p>`;
  return html`<ul class="relations">${memory.relations.map((edge) => {
    const outward = edge.source === memory.id;
    const other = outward ? edge.target : edge.source;
    return html`<li key=${`${edge.source} ${edge.target} ${edge.type}`}>
      <span class="edge-type">${outward ? "" : "← "}<${Said} text=${words(edge.type)} />${outward ? " →" : ""}</span>
      <a class="opens" href=${link("memory", other)}><${Said} text=${texts.get(other) ?? other} /></a>
      ${write && edge.type !== "supersedes" && html`<button class="quiet icon" title="Remove the relation" aria-label="Remove the relation"
        onClick=${() => actions.unrelate(edge).catch(complain)}>×</button>`}
    </li>`;
  })}</ul>`;
}

function Session({ memory, around }) {
  if (!memory.session) return html`<p class="muted">It belongs to no session.</p>`;
  const inside = (each) => each.session === memory.session;
  const turns = [...around.before.filter(inside).slice(-AROUND), around.anchor, ...around.after.filter(inside).slice(0, AROUND)];
  const session = around.sessions[memory.session];
  return html`${session?.summary && html`<p><${Said} text=${session.summary} /></p>`}
    <ol class="steps">${turns.map((turn) => html`<${Line} key=${turn.id} clock memory=${turn} here=${turn.id === memory.id} />`)}</ol>
    <p><a href=${link("timeline", null, { session: memory.session })}>The whole session</a></p>`;
}

function Text({ memory }) {
  const [all, setAll] = useState(false);
  const long = memory.content.length > 4000 && !all;
  return html`<div class="full-text" dir="auto">${long ? beginning(memory.content, 3000) : memory.content}</div>
    ${long && html`<button class="quiet" onClick=${() => setAll(true)}>Show all ${number(memory.content.length)} characters</button>`}`;
}

export function MemoryPage({ id }) {
  const { answer, problem } = useAnswer((signal) => load(id, signal), id);
  useKeys(answer?.memory);
  useEffect(() => {
    leaveFor(id);
    document.getElementById("main").focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  useEffect(() => {
    if (answer) document.title = `${label(answer.memory.content)} · Recollect`;
  }, [answer]);
  if (!answer) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Waiting} />`;
  const { memory, history, nearby, around } = answer;
  const successor = history.find((each) => each.id === memory.superseded_by);
  return html`<article class="memory">
    ${problem && html`<${Trouble} problem=${problem} />`}
    ${memory.deleted_at && html`<p class="notice" role="status">Forgotten on ${minute(memory.deleted_at)}: no search finds it. It can be restored.</p>`}
    ${memory.superseded_by && html`<p class="notice">Superseded by <a href=${link("memory", memory.superseded_by)}>
      <${Said} text=${successor ? beginning(successor.content, 160) : memory.superseded_by} /></a></p>`}
    <h1 class="unseen">A memory</h1>
    <${Text} memory=${memory} />
    <${Facts} memory=${memory} />
    <${Buttons} memory=${memory} />
    <div class="sections">
      <section class="wide"><h2>Neighbourhood</h2><${Graph} nearby=${nearby} /></section>
      <div class="stack">
        <section><h2>Relations</h2><${Relations} memory=${memory} nearby=${nearby} /></section>
        <section><h2>History</h2><${History} history=${history} memory=${memory} /></section>
      </div>
      <section><h2>In its session</h2><${Session} memory=${memory} around=${around} /></section>
      <section class="wide"><h2>All that is known</h2><${AllFacts} memory=${memory} /></section>
    </div>
  </article>`;
}
