// The forms: add, supersede, relate, remove for good.
import { html, useRested, useState, useAnswer } from "./ui.js";
import { post } from "./api.js";
import * as actions from "./actions.js";
import { Form, show } from "./dialogs.js";
import { SECTORS, beginning, day } from "./format.js";
import { go, place, within } from "./route.js";
import { Said } from "./parts.js";

const list = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);
const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value.length));
const TYPES = ["related_to", "depends_on", "caused_by", "fixes", "contradicts"];

function Field({ name, hint, children }) {
  return html`<label class="field"><span>${name}${hint && html` <small class="muted">${hint}</small>`}</span>${children}</label>`;
}

function Add({ close, text = "" }) {
  const [draft, setDraft] = useState({ text, tags: "", sector: "", session: "", speaker: "" });
  const set = (name) => (event) => {
    const { value } = event.currentTarget;
    setDraft((before) => ({ ...before, [name]: value }));
  };
  const act = () => actions.add(given({ ...draft, tags: list(draft.tags) }));
  return html`<${Form} title="Add a memory" action="Remember" act=${act} close=${close} ready=${draft.text.trim()}>
    <${Field} name="Text">
      <textarea autofocus required rows="5" dir="auto" value=${draft.text} onInput=${set("text")}></textarea>
    <//>
    <div class="columns">
      <${Field} name="Tags" hint="(with commas)"><input value=${draft.tags} onInput=${set("tags")} /><//>
      <${Field} name="Sector">
        <select value=${draft.sector} onInput=${set("sector")}>
          <option value="">read from the text</option>
          ${SECTORS.map((sector) => html`<option value=${sector}>${sector}</option>`)}
        </select>
      <//>
      <${Field} name="Session"><input value=${draft.session} onInput=${set("session")} /><//>
      <${Field} name="Speaker" hint="(for a turn of a conversation)">
        <input value=${draft.speaker} onInput=${set("speaker")} />
      <//>
    </div>
  <//>`;
}

/** A memory, looked for as one types; an id can be given as well. */
function Picker({ chosen, onChoose, except, label }) {
  const [text, setText] = useState("");
  const asked = useRested(text.trim(), 150);
  const ask = (signal) => (asked ? post("/v1/recall", { query: asked, limit: 6, reinforce: false }, within(), signal) : { hits: [] });
  const { answer } = useAnswer(ask, asked);
  const found = (answer?.hits ?? []).map((hit) => hit.memory).filter((memory) => memory.id !== except);
  const isId = /^[\w-]{4,}$/.test(asked) && !found.some((memory) => memory.id === asked);
  const option = (id, content) => html`<label class="choice" key=${id}>
    <input type="radio" name="picked" checked=${chosen === id} onChange=${() => onChoose(id)} /><span>${content}</span>
  </label>`;
  return html`<${Field} name=${label} hint="(search, or give an id)">
      <input autofocus type="search" value=${text} onInput=${(event) => setText(event.currentTarget.value)} />
    <//>
    <div class="choices" role="radiogroup" aria-label="Memories that were found">
      ${found.map((memory) => option(memory.id, html`<${Said} text=${beginning(memory.content, 120)} />${" "}<small class="muted">${day(memory.created_at)}</small>`))}
      ${isId && option(asked, html`the id <code>${asked}</code>`)}
    </div>`;
}

function Supersede({ close, memory }) {
  const [way, setWay] = useState("text");
  const [text, setText] = useState(memory.content);
  const [id, setId] = useState(null);
  const draft = { text, tags: memory.tags, sector: memory.sector };
  const act = () => (way === "text" ? actions.supersedeByText(memory.id, draft) : actions.supersedeById(memory.id, id));
  const ready = way === "text" ? text.trim() && text !== memory.content : id;
  const tab = (name, title) => html`<label class="choice">
    <input type="radio" name="way" checked=${way === name} onChange=${() => setWay(name)} /><span>${title}</span>
  </label>`;
  return html`<${Form} title="What takes its place?" action="Supersede" act=${act} close=${close} ready=${ready}>
    <p class="muted">The old memory is kept as history; searches find the new one.</p>
    <div class="row">${tab("text", "A new text")}${tab("memory", "A memory that is there")}</div>
    ${way === "text"
      ? html`<${Field} name="The new text">
          <textarea autofocus required rows="6" dir="auto" value=${text} onInput=${(event) => setText(event.currentTarget.value)}></textarea>
        <//>`
      : html`<${Picker} label="The memory" chosen=${id} onChoose=${setId} except=${memory.id} />`}
  <//>`;
}

function Relate({ close, memory }) {
  const [id, setId] = useState(null);
  const [type, setType] = useState(TYPES[0]);
  const act = () => actions.relate(memory.id, id, type.trim());
  return html`<${Form} title="Relate it to another" action="Relate" act=${act} close=${close} ready=${id && type.trim()}>
    <blockquote><${Said} text=${beginning(memory.content, 160)} /></blockquote>
    <${Field} name="How">
      <input list="types" required value=${type} onInput=${(event) => setType(event.currentTarget.value)} />
    <//>
    <datalist id="types">${TYPES.map((each) => html`<option value=${each}></option>`)}</datalist>
    <${Picker} label="To which memory" chosen=${id} onChoose=${setId} except=${memory.id} />
  <//>`;
}

function RemoveForGood({ close, memory }) {
  const act = async () => {
    await actions.removeForGood(memory.id);
    go({ view: "search", query: { ns: place.get().query.ns } });
  };
  return html`<${Form} title="Remove it for good?" action="Remove for good" danger act=${act} close=${close}>
    <p>Its text, its vector and all that was derived from it leave the store. This can't be undone.</p>
    <blockquote><${Said} text=${beginning(memory.content, 300)} /></blockquote>
  <//>`;
}

export const askToAdd = (text) => show(Add, { text });
export const askToSupersede = (memory) => show(Supersede, { memory });
export const askToRelate = (memory) => show(Relate, { memory });
export const askToRemove = (memory) => show(RemoveForGood, { memory });
