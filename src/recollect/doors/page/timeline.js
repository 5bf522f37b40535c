// The time line: density over time, and the sessions below it; one session, with its memories.
import { html, useAnswer, useMemo, useState } from "./ui.js";
import { get } from "./api.js";
import { binned, dayTime } from "./bins.js";
import { filtersOf, wanted } from "./filters.js";
import { period, several } from "./format.js";
import { Histogram } from "./histogram.js";
import { PreviewLine, Said, Trouble, Waiting } from "./parts.js";
import { go, link, place, within } from "./route.js";

const AT_ONCE = 30;
const MOST = 600;

const set = (changes) => go({ view: "timeline", query: { ...place.get().query, ...changes } });

/** Where a session lies within the time that is shown, in percent. */
function lane(session, [from, to]) {
  const within = (time) => Math.min(100, Math.max(0, (100 * (time - from)) / (to - from)));
  const start = within(Date.parse(session.started_at));
  const end = within(session.ended_at ? Date.parse(session.ended_at) : Date.parse(session.started_at));
  return { left: `${start}%`, width: `max(6px, ${end - start}%)` };
}

const Session = ({ session, range }) => html`<li class="session-line" data-step>
  <div class="lane" aria-hidden="true"><i style=${lane(session, range)}></i></div>
  <a class="opens" href=${link("timeline", null, { session: session.id })}><${Said} text=${session.id} /></a>
  <span class="muted">${period(session.started_at, session.ended_at)}</span>
  <span class="muted">${several(session.memories, "memory", "memories")}${session.agent && html` · <${Said} text=${session.agent} />`}</span>
  ${session.summary && html`<p><${Said} text=${session.summary} /></p>`}
</li>`;

function Sessions({ query, bins }) {
  const { since, until } = filtersOf(query);
  const limit = wanted(query, AT_ONCE, MOST);
  const { answer, problem } = useAnswer((signal) => get("/v1/sessions", within({ since, until, limit }), signal), [since, until, limit]);
  const range = [since ? dayTime(since) : bins[0].from, until ? dayTime(until) : bins.at(-1).to];
  if (problem) return html`<${Trouble} problem=${problem} />`;
  if (!answer) return html`<${Waiting} />`;
  if (!answer.items.length) return html`<p class="empty">No session began in this time.</p>`;
  return html`<ol class="sessions" role="list" aria-label="Sessions, the newest first">
      ${answer.items.map((session) => html`<${Session} key=${session.id} session=${session} range=${range} />`)}
    </ol>
    ${answer.next && limit < MOST && html`<button class="quiet more" onClick=${() => set({ n: limit + AT_ONCE })}>More</button>`}`;
}

function Whole({ query }) {
  const { answer, problem } = useAnswer((signal) => get("/v1/growth", within(), signal), "growth");
  const { size, bins } = useMemo(() => binned(answer?.days ?? {}), [answer]);
  if (!answer) return problem ? html`<${Trouble} problem=${problem} />` : html`<${Waiting} />`;
  if (!bins.length) return html`<p class="empty">Nothing is remembered here yet, so there is no time to show.</p>`;
  const { since, until } = filtersOf(query);
  return html`<${Histogram} bins=${bins} size=${size} since=${since} until=${until} onChoose=${(time) => set({ ...time, n: "" })} />
    ${(since || until) && html`<p class="row">
      <a href=${link("search", null, { since: query.since, until: query.until })}>Search in this time</a>
      <button class="quiet" onClick=${() => set({ since: "", until: "" })}>All times</button></p>`}
    <h2>Sessions</h2>
    <${Sessions} query=${query} bins=${bins} />`;
}

async function loadSession(id, limit, signal) {
  const ask = [
    get(`/v1/sessions/${encodeURIComponent(id)}`, within(), signal),
    get("/v1/memories", within({ session: [id], limit, include_superseded: true }), signal),
  ];
  const [session, memories] = await Promise.all(ask);
  return { session, memories };
}

function OneSession({ id }) {
  const [limit, setLimit] = useState(50);
  const { answer, problem } = useAnswer((signal) => loadSession(id, limit, signal), [id, limit]);
  const back = html`<p><a href=${link("timeline")}>← All sessions</a></p>`;
  if (!answer) return html`${back}${problem ? html`<${Trouble} problem=${problem} />` : html`<${Waiting} />`}`;
  const { session, memories } = answer;
  return html`${back}
    <h2><${Said} text=${session.id} /></h2>
    <p class="muted">${period(session.started_at, session.ended_at)} · ${several(session.memories, "memory", "memories")}
      ${session.agent && html` · <${Said} text=${session.agent} />`}</p>
    ${session.summary && html`<p class="lead"><${Said} text=${session.summary} /></p>`}
    <p><a href=${link("search", null, { session: id })}>Search in this session</a></p>
    ${memories.next && limit < MOST && html`<button class="quiet more" onClick=${() => setLimit(limit + 50)}>Earlier ones</button>`}
    <ol class="hits plain" role="list" aria-label="Memories of the session, the oldest first">
      ${memories.items.toReversed().map((item) => html`<${PreviewLine} key=${item.id} item=${item} />`)}
    </ol>`;
}

export function Timeline() {
  const { query } = place.use();
  return html`<div class="timeline"><h1>Time line</h1>
    ${query.session ? html`<${OneSession} key=${query.session} id=${query.session} />` : html`<${Whole} query=${query} />`}
  </div>`;
}
