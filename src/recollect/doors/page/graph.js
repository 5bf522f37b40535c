// A memory's neighbourhood as a small graph: nodes are links, edges say their type.
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { label, several, words } from "./format.js";
import { layout } from "./layout.js";
import { link } from "./route.js";

const MARGIN = { x: 74, y: 30 };
const LABELLED_EDGES = 16;
const ROOM_FOR_LABELS = 26;

function useWidth() {
  const element = useRef();
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const watching = new ResizeObserver(([entry]) => setWidth(Math.max(280, Math.round(entry.contentRect.width))));
    watching.observe(element.current);
    return () => watching.disconnect();
  }, []);
  return [element, width];
}

/** Several edges between the same two, drawn as one: their types are said together. */
function merged(edges) {
  const between = new Map();
  for (const { source, target, type } of edges) {
    const key = JSON.stringify([source, target]);
    const known = between.get(key) ?? { source, target, types: [] };
    if (!known.types.includes(type)) known.types.push(type);
    between.set(key, known);
  }
  return [...between.values()];
}

function Edge({ edge, at, near, labelled }) {
  const [from, to] = [at.get(edge.source), at.get(edge.target)];
  const length = Math.max(1, Math.hypot(to.x - from.x, to.y - from.y));
  const short = (gap) => gap / length;
  const end = { x: to.x - (to.x - from.x) * short(11), y: to.y - (to.y - from.y) * short(11) };
  const title = edge.types.map(words).join(", ");
  return html`<g class=${near ? "edge near" : "edge"} data-type=${edge.types[0]}>
    <line x1=${from.x} y1=${from.y} x2=${end.x} y2=${end.y} marker-end="url(#arrow)"><title>${label(title, 80)}</title></line>
    ${labelled && html`<text x=${(from.x + to.x) / 2} y=${(from.y + to.y) / 2 - 3}>${label(title, 24)}</text>`}
  </g>`;
}

function Node({ memory, at, centre, labelled }) {
  const { x, y } = at.get(memory.id);
  const name = label(memory.text, 22);
  return html`<a class=${centre ? "node centre" : memory.superseded ? "node past" : "node"} href=${link("memory", memory.id)}
      aria-label=${label(memory.text, 120)} aria-current=${centre ? "true" : null} data-sector=${memory.sector}>
    <title>${label(memory.text, 300)}</title>
    <circle cx=${x} cy=${y} r=${centre ? 9 : 7} />
    ${labelled && html`<text x=${x} y=${y + (centre ? 24 : 21)}>${name}</text>`}
  </a>`;
}

export function Graph({ nearby }) {
  const [element, width] = useWidth();
  const edges = useMemo(() => merged(nearby.edges), [nearby]);
  const height = nearby.memories.length > 14 ? 420 : nearby.memories.length > 2 ? 320 : 170;
  const at = useMemo(() => {
    const ids = [nearby.centre, ...nearby.memories.map((memory) => memory.id).filter((id) => id !== nearby.centre)];
    const inside = layout(ids, edges.map((edge) => [edge.source, edge.target]), width - 2 * MARGIN.x, height - 2 * MARGIN.y);
    return new Map([...inside].map(([id, { x, y }]) => [id, { x: x + MARGIN.x, y: y + MARGIN.y }]));
  }, [nearby, width, height]);
  const touches = (edge) => edge.source === nearby.centre || edge.target === nearby.centre;
  const many = edges.length > LABELLED_EDGES || width < 460;
  const alone = nearby.memories.length < 2;
  return html`<div class="graph" ref=${element}>
    ${alone ? html`<p class="muted">Nothing is connected to it.</p>` : html`
    <svg viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} role="group" aria-label="Neighbourhood of the memory">
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
      ${edges.map((edge) => html`<${Edge} edge=${edge} at=${at} near=${touches(edge)} labelled=${!many || touches(edge)} />`)}
      ${nearby.memories.map((memory) => html`<${Node} key=${memory.id} memory=${memory} at=${at} centre=${memory.id === nearby.centre}
        labelled=${nearby.memories.length <= ROOM_FOR_LABELS || memory.id === nearby.centre} />`)}
    </svg>
    <p class="muted">${several(nearby.memories.length - 1, "memory", "memories")} within two steps${nearby.complete ? "" : "; there are more"}.</p>`}
  </div>`;
}
