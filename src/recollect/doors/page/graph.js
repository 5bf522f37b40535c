// A memory's neighbourhood as a small graph: nodes are links, edges say their type.
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { label, several, words } from "./format.js";
import { placed } from "./labels.js";
import { layout } from "./layout.js";
import { link } from "./route.js";

const MARGIN = 34;
const side = (width) => (width > 800 ? 104 : width > 500 ? 76 : 54);
const SHORT = { next_in_session: "next" };
const RADIUS = 7;

function useWidth() {
  const element = useRef();
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watching = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.floor(entry.contentRect.width) - 2)));
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
    const known = between.get(key) ?? { key, source, target, types: [] };
    if (!known.types.includes(type)) known.types.push(type);
    between.set(key, known);
  }
  return [...between.values()].map((edge) => ({
    ...edge, title: label(edge.types.map((type) => SHORT[type] ?? words(type)).join(", "), 30),
  }));
}

const along = (from, to, part) => ({ x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part + 3 });
const beside = ({ x, y }) => [{ x, y: y + 21 }, { x, y: y - 12 }, { x, y: y + 32 }, { x: x + 40, y: y + 21 }, { x: x - 40, y: y + 21 }];

/** Positions of nodes and labels. */
function drawn({ centre, memories }, edges, width, height) {
  const ids = [centre, ...memories.map((memory) => memory.id).filter((id) => id !== centre)];
  const ends = edges.map((edge) => [edge.source, edge.target]);
  const inside = layout(ids, ends, width - 2 * side(width), height - 2 * MARGIN);
  const at = new Map([...inside].map(([id, { x, y }]) => [id, { x: x + side(width), y: y + MARGIN }]));
  const length = width > 800 ? 32 : width > 500 ? 24 : 16;
  const names = new Map(memories.map((memory) => [memory.id, label(memory.text, length)]));
  const near = (edge) => edge.source === centre || edge.target === centre;
  const node = (id) => ({ key: id, text: names.get(id) ?? "", places: beside(at.get(id)) });
  const line = (edge) => ({
    key: edge.key, text: edge.title, places: [0.5, 0.38, 0.62, 0.28].map((part) => along(at.get(edge.source), at.get(edge.target), part)),
  });
  const labels = [node(centre), ...edges.filter(near).map(line), ...ids.slice(1).map(node), ...edges.filter((edge) => !near(edge)).map(line)];
  const taken = [...at.values()].map((point) => ({ ...point, r: RADIUS }));
  return { at, names, near, places: placed(labels, taken, width) };
}

function Edge({ edge, from, to, near, place }) {
  const gap = 11 / Math.max(1, Math.hypot(to.x - from.x, to.y - from.y));
  const end = { x: to.x - (to.x - from.x) * gap, y: to.y - (to.y - from.y) * gap };
  return html`<g class=${near ? "edge near" : "edge"} data-type=${edge.types[0]}>
    <line x1=${from.x} y1=${from.y} x2=${end.x} y2=${end.y} marker-end="url(#arrow)"><title>${edge.title}</title></line>
    ${place && html`<text x=${place.x} y=${place.y}>${edge.title}</text>`}
  </g>`;
}

function Node({ memory, at, centre, name, place }) {
  const kind = centre ? "node centre" : memory.superseded ? "node past" : "node";
  return html`<a class=${kind} href=${link("memory", memory.id)}
      aria-current=${centre ? "true" : null} data-sector=${memory.sector}>
    <title>${label(memory.text, 200)}</title>
    <circle cx=${at.x} cy=${at.y} r=${centre ? RADIUS + 2 : RADIUS} />
    ${place && html`<text x=${place.x} y=${place.y} aria-hidden="true">${name}</text>`}
  </a>`;
}

function Drawing({ nearby, width }) {
  const edges = useMemo(() => merged(nearby.edges), [nearby]);
  const many = nearby.memories.length;
  const height = Math.round(Math.min(460, 150 + 24 * many) * (width < 500 ? 1.15 : 1));
  const { at, names, near, places } = useMemo(() => drawn(nearby, edges, width, height), [nearby, width]);
  return html`<svg viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} role="group" aria-label="Neighbourhood of the memory">
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
      ${edges.map((edge) => html`<${Edge} key=${edge.key} edge=${edge} from=${at.get(edge.source)} to=${at.get(edge.target)} near=${near(edge)} place=${places.get(edge.key)} />`)}
      ${nearby.memories.map((memory) => html`<${Node} key=${memory.id} memory=${memory} at=${at.get(memory.id)} centre=${memory.id === nearby.centre}
        name=${names.get(memory.id)} place=${places.get(memory.id)} />`)}
    </svg>
    <p class="muted">${several(many - 1, "memory", "memories")} within two steps${nearby.complete ? "" : "; there are more"}.</p>`;
}

export function Graph({ nearby }) {
  const [element, width] = useWidth();
  const alone = nearby.memories.length < 2;
  return html`<div class="graph" ref=${element}>
    ${alone ? html`<p class="muted">Nothing is connected to it.</p>` : width > 0 && html`<${Drawing} nearby=${nearby} width=${width} />`}
  </div>`;
}
