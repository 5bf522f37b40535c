// How many memories which time brought: drag over it, or move with the arrow keys, to choose a time.
import { html, useRef, useState } from "./ui.js";
import { DAY, dayName, dayTime } from "./bins.js";
import { number, several, utcDay } from "./format.js";

const HEIGHT = 110;

/** Which bins a chosen time covers: [first, last], or null. */
function covered(bins, since, until) {
  if (!since && !until) return null;
  const from = since ? dayTime(since) : -Infinity, to = until ? dayTime(until) : Infinity;
  const inside = bins.map((bin, place) => (bin.to > from && bin.from < to ? place : -1)).filter((place) => place >= 0);
  return inside.length ? [inside[0], inside.at(-1)] : null;
}

function spoken(bins, [first, last]) {
  const total = bins.slice(first, last + 1).reduce((sum, bin) => sum + bin.total, 0);
  const [from, to] = [utcDay(bins[first].from), utcDay(bins[last].to - DAY)];
  return `${from === to ? from : `${from} – ${to}`}: ${several(total, "memory", "memories")}`;
}

export function Histogram({ bins, size, since, until, onChoose }) {
  const element = useRef();
  const [drag, setDrag] = useState(null);
  const most = Math.max(1, ...bins.map((bin) => bin.total));
  const chosen = drag ? [Math.min(...drag), Math.max(...drag)] : covered(bins, since, until);
  const at = (event) => {
    const box = element.current.getBoundingClientRect();
    return Math.min(bins.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * bins.length)));
  };
  const choose = ([one, other]) => {
    const [first, last] = [Math.min(one, other), Math.max(one, other)];
    onChoose({ since: dayName(bins[first].from), until: dayName(bins[last].to - DAY) });
  };
  const start = (event) => {
    element.current.setPointerCapture(event.pointerId);
    setDrag([at(event), at(event)]);
  };
  const end = () => {
    if (drag) choose(drag);
    setDrag(null);
  };
  const press = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) {
      const [first, last] = drag ?? (chosen ? [...chosen] : by > 0 ? [-1, -1] : [bins.length, bins.length]);
      const next = Math.min(bins.length - 1, Math.max(0, last + by));
      setDrag(event.shiftKey && first >= 0 && first < bins.length ? [first, next] : [next, next]);
    } else if (event.key === "Enter") end();
    else if (event.key === "Escape") {
      setDrag(null);
      onChoose({ since: "", until: "" });
    } else return;
    event.preventDefault();
  };
  return html`<div class="histogram">
    <svg ref=${element} viewBox=${`0 0 ${bins.length} ${HEIGHT}`} preserveAspectRatio="none" height=${HEIGHT} tabindex="0" role="group"
      aria-label=${`Memories by ${size}. Arrow keys move, with Shift they widen, Enter chooses, Escape clears.`}
      onPointerDown=${start} onPointerMove=${(event) => drag && setDrag([drag[0], at(event)])} onPointerUp=${end}
      onPointerCancel=${() => setDrag(null)} onKeyDown=${press} onBlur=${() => setDrag(null)}>
      ${chosen && html`<rect class="chosen" x=${chosen[0]} y="0" width=${chosen[1] - chosen[0] + 1} height=${HEIGHT} />`}
      ${bins.map((bin, place) => html`<rect class="bar" key=${bin.from} x=${place + 0.1} width="0.8"
        y=${HEIGHT - (bin.total / most) * (HEIGHT - 6)} height=${(bin.total / most) * (HEIGHT - 6)}>
        <title>${spoken(bins, [place, place])}</title></rect>`)}
    </svg>
    <div class="axis muted"><span>${utcDay(bins[0].from)}</span>
      <span role="status">${chosen ? spoken(bins, chosen) : `by ${size}, at most ${number(most)}`}</span>
      <span>${utcDay(bins.at(-1).to - DAY)}</span></div>
  </div>`;
}
