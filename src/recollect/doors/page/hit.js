// A hit: its text with its marks, what is known of it, how well it answers, and what can be done with it.
import { html, useEffect, useState } from "./ui.js";
import { askToRelate, askToSupersede } from "./forms.js";
import { beginning, score } from "./format.js";
import { forgetHere } from "./lines.js";
import { marked } from "./marks.js";
import { Facts, Marked, Said } from "./parts.js";
import { link } from "./route.js";
import { rights } from "./rights.js";
import { Why } from "./why.js";

const LONGEST = 480;

function Actions({ memory }) {
  if (!rights.use().write || memory.kind === "passage") return null;
  return html`
    ${!memory.superseded_by && html`<button class="quiet" onClick=${() => askToSupersede(memory)} title="Supersede (s)">Supersede</button>`}
    <button class="quiet" onClick=${() => askToRelate(memory)} title="Relate (r)">Relate</button>
    <button class="quiet" onClick=${() => forgetHere(memory)} title="Forget (x)">Forget</button>`;
}

export function Hit({ hit, rank, explain }) {
  const [why, setWhy] = useState(explain);
  useEffect(() => setWhy(explain), [explain]);
  const { memory } = hit;
  const text = marked(memory.content, hit.highlights);
  return html`<li class=${hit.is_superseded ? "hit past" : "hit"} data-step data-id=${memory.id}>
    <div class="rank" aria-hidden="true">${rank}</div>
    <div class="body">
      <a class="opens" href=${link("memory", memory.id)}>
        ${text ? html`<${Marked} pieces=${text} />` : html`<${Said} text=${beginning(memory.content, LONGEST)} />`}
      </a>
      ${hit.superseded_by && html`<p class="successor">Superseded by
        <a href=${link("memory", hit.superseded_by.id)}><${Said} text=${beginning(hit.superseded_by.content, 160)} /></a></p>`}
      <${Facts} memory=${memory} />
      <div class="row actions">
        <button class="quiet why-button" aria-expanded=${why} onClick=${() => setWhy(!why)} title="Why (w)">
          <span class="meter" aria-hidden="true"><i style=${{ width: `${100 * hit.score}%` }}></i></span>
          <span class="score">${score(hit.score)}</span> why?
        </button>
        <${Actions} memory=${memory} />
      </div>
      ${why && html`<${Why} hit=${hit} />`}
    </div>
  </li>`;
}
