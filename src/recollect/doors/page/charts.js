// Charts drawn with a few lines of SVG; each has its numbers as a text as well.
import { html } from "./ui.js";
import { SECTORS, number, several, utcDay } from "./format.js";

const HEIGHT = 140;

/** What each time brought, by sector, one upon the other. */
export function Stacked({ bins, size }) {
  const most = Math.max(1, ...bins.map((bin) => bin.total));
  const scale = (HEIGHT - 4) / most;
  const column = (bin, place) => {
    let top = HEIGHT;
    const parts = SECTORS.filter((sector) => bin.counts[sector]).map((sector) => {
      const height = bin.counts[sector] * scale;
      top -= height;
      return html`<rect class="fill" data-sector=${sector} x=${place + 0.08} width="0.84" y=${top} height=${height} />`;
    });
    const said = SECTORS.filter((sector) => bin.counts[sector]).map((sector) => `${sector} ${bin.counts[sector]}`).join(", ");
    return html`<g key=${bin.from}><title>${`${utcDay(bin.from)}: ${said}`}</title>${parts}</g>`;
  };
  return html`<figure>
    <svg class="chart" viewBox=${`0 0 ${bins.length} ${HEIGHT}`} preserveAspectRatio="none" height=${HEIGHT} role="img"
      aria-label=${`New memories by ${size}, at most ${number(most)}`}>${bins.map(column)}</svg>
    <${Axis} bins=${bins} middle=${`new by ${size}, at most ${number(most)}`} />
  </figure>`;
}

/** How many there were by then. */
export function Cumulative({ bins }) {
  let total = 0;
  const points = bins.map((bin, place) => [place + 1, (total += bin.total)]);
  const scale = (HEIGHT - 4) / Math.max(1, total);
  const line = [[0, 0], ...points].map(([x, y]) => `${x},${(HEIGHT - y * scale).toFixed(2)}`).join(" ");
  return html`<figure>
    <svg class="chart" viewBox=${`0 0 ${bins.length} ${HEIGHT}`} preserveAspectRatio="none" height=${HEIGHT} role="img"
      aria-label=${`Growth to ${several(total, "memory", "memories")}`}>
      <polygon class="area" points=${`0,${HEIGHT} ${line} ${bins.length},${HEIGHT}`} />
      <polyline class="line" points=${line} vector-effect="non-scaling-stroke" />
    </svg>
    <${Axis} bins=${bins} middle=${`in all: ${number(total)}`} />
  </figure>`;
}

const Axis = ({ bins, middle }) => html`<figcaption class="axis muted">
  <span>${utcDay(bins[0].from)}</span><span>${middle}</span><span>${utcDay(bins.at(-1).to - 1)}</span>
</figcaption>`;

/** Named amounts as bars: [[name, count]]. */
export function Bars({ rows, sectors = false }) {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  return html`<table class="bars"><tbody>
    ${rows.map(([name, count]) => html`<tr>
      <th scope="row">${sectors ? html`<span class="sector" data-sector=${name}>${name}</span>` : name}</th>
      <td class="track"><div>${count > 0 && html`<i class="bar" data-sector=${sectors ? name : null} style=${{ width: `${(100 * count) / most}%` }}></i>`}</div></td>
      <td class="amount">${number(count)}</td>
    </tr>`)}
  </tbody></table>`;
}
