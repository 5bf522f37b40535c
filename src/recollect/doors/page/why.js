// Why is this hit where it is? A bar for each part of its score; they add up to it.
import { html } from "./ui.js";
import { score as shown, words } from "./format.js";

const leg = (name, opinion) =>
  opinion && { kind: name, name: `by ${name === "keyword" ? "words" : "meaning"}`, value: opinion.share,
    note: `rank ${opinion.rank} there, raw score ${Number(opinion.score.toPrecision(4))}` };

/** What is added together before anything is multiplied. */
function summands({ why }) {
  if (why.factors.length) {
    const count = why.factors.length;
    return why.factors.map((factor) => ({
      kind: "added", name: words(factor.name), value: factor.value / count,
      note: count > 1 ? `${shown(factor.value)}, one of ${count} that count alike` : "it alone decides",
    }));
  }
  const base = [leg("keyword", why.keyword), leg("semantic", why.semantic),
    ...why.added.map((each) => ({ kind: "added", name: words(each.name), value: each.value, note: each.note }))].filter(Boolean);
  const rest = why.base - base.reduce((sum, part) => sum + part.value, 0);
  if (Math.abs(rest) > 1e-6) base.push({ kind: "added", name: "as it stands", value: rest, note: "found by its text as it stands" });
  if (why.lent) base.push({ kind: "lent", name: "lent", value: why.lent, note: "by what was said around it in its session" });
  return base;
}

/** The parts in their order, each with where it begins and ends: [{ kind, name, from, to, note }]. */
export function parts(hit) {
  let total = 0;
  const found = [];
  const put = (part, to) => {
    found.push({ ...part, from: total, to });
    total = to;
  };
  for (const part of summands(hit)) put(part, total + part.value);
  for (const each of hit.why.multipliers) {
    const times = { kind: "times", name: words(each.name), note: `× ${shown(each.value)}${each.note ? `: ${each.note}` : ""}` };
    put(times, total * each.value);
  }
  if (Math.abs(total - hit.score) > 1e-6) put({ kind: "times", name: "bounds", note: "a score lies within 0 and 1" }, hit.score);
  return found;
}

const rounded = (value) => Math.round(1000 * value);

/** As they are shown, so that what is read adds up: the difference of two rounded sums. */
function amount({ from, to }) {
  const difference = rounded(to) - rounded(from);
  return `${difference < 0 ? "−" : "+"}${(Math.abs(difference) / 1000).toFixed(3)}`;
}

export function Why({ hit }) {
  const found = parts(hit);
  const most = Math.max(1, ...found.map((part) => Math.max(part.from, part.to)));
  const span = (from, to) => ({ left: `${(100 * Math.min(from, to)) / most}%`, width: `${(100 * Math.abs(to - from)) / most}%` });
  return html`<table class="why" aria-label="The parts of the score">
    <tbody>
      ${found.map((part) => html`<tr data-kind=${part.kind}>
        <th scope="row">${part.name}</th>
        <td class="track"><div><i class=${part.to < part.from ? "bar less" : "bar"} style=${span(part.from, part.to)}></i></div></td>
        <td class="amount">${amount(part)}</td>
        <td class="note"><bdi>${part.note}</bdi></td>
      </tr>`)}
      <tr class="total">
        <th scope="row">score</th>
        <td class="track"><div><i class="bar" style=${span(0, hit.score)}></i></div></td>
        <td class="amount">${shown(hit.score)}</td>
        <td class="note">${hit.why.fusion} of ${hit.why.mode === "hybrid" ? "words and meaning" : hit.why.mode}</td>
      </tr>
    </tbody>
  </table>`;
}
