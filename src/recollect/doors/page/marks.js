// Highlights are HTML in which text is escaped and <mark> is the only element. They become pieces of text
// here, never HTML: whatever else stands in them is shown as it stands.
const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&#39;": "'", "&amp;": "&" };
const ENTITY = /&(?:lt|gt|quot|#x27|#39|amp);/g;
const WHOLE = 480;

const unescaped = (text) => text.replace(ENTITY, (entity) => ENTITIES[entity]);

/** A highlight as pieces: [{ text, marked }]. */
export function pieces(highlight) {
  return highlight
    .split(/(<mark>[^<]*<\/mark>)/)
    .filter(Boolean)
    .map((part) => {
      const marked = part.startsWith("<mark>") && part.endsWith("</mark>");
      return { text: unescaped(marked ? part.slice(6, -7) : part), marked };
    });
}

/** A memory's text with its marks: the whole of a short one, the snippets of a long one. */
export function marked(content, highlights) {
  const found = highlights.map(pieces);
  if (content.length > WHOLE) return found.length ? joined(found) : null;
  return found.reduce(overlay, [{ text: content, marked: false }]);
}

function joined(snippets) {
  return snippets.flatMap((snippet, place) => (place ? [{ text: " ", marked: false }, ...snippet] : snippet));
}

/** The marks of a snippet, put onto the text that it was cut from. */
function overlay(text, snippet) {
  const plain = snippet.map((piece) => piece.text).join("").replace(/^…|…$/g, "");
  return text.flatMap((piece) => {
    const start = piece.marked ? -1 : piece.text.indexOf(plain);
    if (start < 0) return [piece];
    const inside = snippet.map((each) => ({ ...each, text: each.text }));
    inside[0].text = inside[0].text.replace(/^…/, "");
    inside.at(-1).text = inside.at(-1).text.replace(/…$/, "");
    const around = (part) => ({ text: part, marked: false });
    return [around(piece.text.slice(0, start)), ...inside, around(piece.text.slice(start + plain.length))];
  });
}
