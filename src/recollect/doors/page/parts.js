// Small parts that several views use. Text of memories is always text: Preact makes text nodes of it, and its
// direction stays its own.
import { html } from "./ui.js";
import { day, hour, minute } from "./format.js";
import { link } from "./route.js";

/** A text of somebody's, kept apart from the words around it. */
export const Said = ({ text }) => html`<bdi dir="auto">${text}</bdi>`;

/** A text in pieces, some of them marked. */
export const Marked = ({ pieces }) => html`<bdi dir="auto">
  ${pieces.map((piece) => (piece.marked ? html`<mark>${piece.text}</mark>` : piece.text))}
</bdi>`;

export const Sector = ({ name }) => html`<span class="sector" data-sector=${name}>${name}</span>`;

/** A day, or the time of day where the day is known. */
export const Moment = ({ at, clock = false }) => html`<time datetime=${at} title=${minute(at)}>${clock ? hour(at) : day(at)}</time>`;

/** What is known of a memory, in a line; a click on a part of it looks for more like it. */
export function Facts({ memory, session = memory.session }) {
  return html`<div class="facts">
    <${Moment} at=${memory.created_at} />
    <${Sector} name=${memory.sector} />
    ${memory.speaker && html`<a href=${link("search", null, { speaker: memory.speaker })} title="Said by"><${Said} text=${memory.speaker} /></a>`}
    ${session && html`<a class="session" href=${link("timeline", null, { session })} title="The session"><${Said} text=${session} /></a>`}
    ${memory.document && html`<span title="Passage of a document">¶ <${Said} text=${memory.document} /></span>`}
    ${memory.tags.map((tag) => html`<a class="tag" href=${link("search", null, { tag: [tag] })}><${Said} text=${tag} /></a>`)}
    ${memory.trust && memory.trust !== "normal" && html`<span class=${`trust ${memory.trust}`}>${memory.trust} trust</span>`}
  </div>`;
}

/** What went wrong, in words. */
export const Trouble = ({ problem }) => html`<p class="problem" role="alert">${problem.message}</p>`;

/** What a view shows while there is nothing yet. */
export const Waiting = () => html`<p class="muted waiting">Looking …</p>`;

/** A line of a list that opens a memory. */
export const PreviewLine = ({ item }) => html`<li class=${item.superseded ? "preview past" : "preview"} data-step data-id=${item.id}>
  <a class="opens" href=${link("memory", item.id)}><${Said} text=${item.text} /></a>
  <${Facts} memory=${item} />
</li>`;
