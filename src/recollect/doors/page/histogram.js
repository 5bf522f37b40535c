// How many memories which time brought: drag over it, or move with the arrow keys, to choose a time.
import { html, useState } from "./ui.js";
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

/** Choosing bins by dragging or with keys: what is being chosen, and what the drawing listens to. */
function useBrush(bins, chosen, onChoose) {
  const [drag, setDrag] = useState(null);
  const last = bins.length - 1;
  const at = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(last, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * bins.length)));
  };
  const end = () => {
    if (drag) onChoose({ since: dayName(bins[Math.min(...drag)].from), until: dayName(bins[Math.max(...drag)].to - DAY) });
    setDrag(null);
  };
  const move = (by, wider) => {
    const [first, now] = drag ?? chosen ?? (by > 0 ? [-1, -1] : [last + 1, last + 1]);
    const next = Math.min(last, Math.max(0, now + by));
    setDrag(wider && first >= 0 && first <= last ? [first, next] : [next, next]);
  };
  const press = (event) => {
    if (event.key === "ArrowRight") move(1, event.shiftKey);
    else if (event.key === "ArrowLeft") move(-1, event.shiftKey);
    else if (event.key === "Enter") end();
    else if (event.key === "Escape") {
      setDrag(null);
      onChoose({ since: "", until: "" });
    } else return;
    event.preventDefault();
  };
  const start = (event) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrag([at(event), at(event)]);
  };
  const leave = () => setDrag(null);
  const widen = (event) => drag && setDrag([drag[0], at(event)]);
  const listening = {
    onPointerDown: start, onPointerMove: widen, onPointerUp: end, onPointerCancel: leave, onBlur: leave, onKeyDown: press,
  };
  return [drag && [Math.min(...drag), Math.max(...drag)], listening];
}

export function Histogram({ bins, size, since, until, onChoose }) {
  const given = covered(bins, since, until);
  const [drag, listening] = useBrush(bins, given, onChoose);
  const chosen = drag ?? given;
  const most = Math.max(1, ...bins.map((bin) => bin.total));
  const tall = (bin) => (bin.total / most) * (HEIGHT - 6);
  return html`<div class="histogram">
    <svg viewBox=${`0 0 ${bins.length} ${HEIGHT}`} preserveAspectRatio="none" height=${HEIGHT} tabindex="0" role="group" ...${listening}
      aria-label=${`Memories by ${size}. Arrow keys move, with Shift they widen, Enter chooses, Escape clears.`}>
      ${chosen && html`<rect class="chosen" x=${chosen[0]} y="0" width=${chosen[1] - chosen[0] + 1} height=${HEIGHT} />`}
      ${bins.map((bin, place) => html`<rect class="bar" key=${bin.from} x=${place + 0.1} width="0.8" y=${HEIGHT - tall(bin)} height=${tall(bin)}>
        <title>${spoken(bins, [place, place])}</title></rect>`)}
    </svg>
    <div class="axis muted"><span>${utcDay(bins[0].from)}</span>
      <span role="status">${chosen ? spoken(bins, chosen) : `by ${size}, at most ${number(most)}`}</span>
      <span>${utcDay(bins.at(-1).to - DAY)}</span></div>
  </div>`;
}
