// The page: its head, the view that the address names, and what lies over it.
import { hear, html, render, useEffect, useLayoutEffect, useState } from "./ui.js";
import { keepToken, dropToken, reachable, takeToken, tryAgain } from "./api.js";
import { Dialogs, Help, show } from "./dialogs.js";
import { Namespace } from "./filters.js";
import { askToAdd } from "./forms.js";
import { label } from "./format.js";
import { onKey, step } from "./keys.js";
import { listen } from "./lines.js";
import { MemoryPage } from "./memory.js";
import { arrive, go, link, place } from "./route.js";
import { learnRights, rights } from "./rights.js";
import { Search } from "./search.js";
import { Stats } from "./stats.js";
import { ThemeSwitch, applyTheme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { Toasts } from "./toast.js";

const VIEWS = {
  search: { title: "Search", view: Search },
  timeline: { title: "Time line", view: Timeline },
  stats: { title: "Statistics", view: Stats },
};

const visit = (view) => go({ view, query: { ns: place.get().query.ns } });

function useKeys() {
  useLayoutEffect(() => {
    const ends = [
      listen(),
      onKey("next", () => step(".opens", 1)),
      onKey("previous", () => step(".opens", -1)),
      onKey("add", () => rights.get().write && askToAdd()),
      onKey("help", () => show(Help)),
      onKey("find", () => place.get().view === "search" || visit("search")),
      ...Object.keys(VIEWS).map((name) => onKey(`go-${name}`, () => visit(name))),
    ];
    return () => ends.forEach((end) => end());
  }, []);
}

function Head({ current }) {
  const { write, name } = rights.use();
  return html`<header class="head">
    <a class="brand" href=${link("search")} aria-label="Recollect"><img src="/page/icon.svg" alt="" width="24" height="24" /><span>Recollect</span></a>
    <nav aria-label="Views">
      ${Object.entries(VIEWS).map(([view, { title }]) => html`<a href=${link(view)} aria-current=${view === current.view ? "page" : null}>${title}</a>`)}
    </nav>
    <div class="tools">
      <${Namespace} query=${current.query} onChoose=${(ns) => go({ view: VIEWS[current.view] ? current.view : "search", query: { ns } })} />
      ${write
        ? html`<button class="main" onClick=${() => askToAdd()} title="Add a memory (a)">Add</button>`
        : html`<span class="badge" title=${`The token ${name} may only read`}>read only</span>`}
      <${ThemeSwitch} />
      <button class="quiet icon" onClick=${() => show(Help)} title="Keys (?)" aria-label="Keys">?</button>
    </div>
  </header>`;
}

/** The server is away: say so, and go on trying. */
function Away() {
  if (reachable.use()) return null;
  return html`<div class="away" role="alert">The server does not answer; trying again …
    <button class="quiet" onClick=${tryAgain}>Try now</button></div>`;
}

function AskForToken({ refused, onGiven }) {
  const [text, setText] = useState("");
  const give = (event) => {
    event.preventDefault();
    onGiven(text.trim());
  };
  return html`<main class="alone">
    <h1><img src="/page/icon.svg" alt="" width="28" height="28" /> Recollect</h1>
    ${refused && html`<p class="problem" role="alert">${refused}</p>`}
    <p>A token is needed to see these memories. <code>recollect serve</code> shows it when it starts.</p>
    <form onSubmit=${give}>
      <label class="field"><span>Token</span>
        <input type="password" name="token" autofocus required autocomplete="off" value=${text} onInput=${(event) => setText(event.currentTarget.value)} /></label>
      <button class="main" disabled=${!text.trim()}>Open</button>
    </form>
  </main>`;
}

function View({ current }) {
  const ns = current.query.ns ?? "";
  if (current.view === "memory" && current.id) return html`<${MemoryPage} key=${`${ns}/${current.id}`} id=${current.id} />`;
  const { view } = VIEWS[current.view] ?? VIEWS.search;
  return html`<${view} key=${`${ns}/${current.view}`} />`;
}

function Page() {
  const current = place.use();
  useKeys();
  useEffect(() => {
    const of = current.query.q ? label(current.query.q) : VIEWS[current.view]?.title ?? "A memory";
    document.title = `${of} · Recollect`;
  }, [current]);
  return html`<a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    }}>To the content</a>
    <${Head} current=${current} />
    <${Away} />
    <main id="main" tabindex="-1"><${View} current=${current} /></main>
    <${Dialogs} />
    <${Toasts} />`;
}

function App() {
  const [state, setState] = useState("starting");
  const [refused, setRefused] = useState(null);
  const enter = () =>
    learnRights().then(
      () => setState("open"),
      (problem) => {
        if (problem.status === 401) setRefused(problem.message);
        setState(problem.status === 401 ? "locked" : "away");
      },
    );
  useEffect(() => {
    takeToken().then(
      (token) => (token ? enter() : setState("locked")),
      (problem) => {
        setRefused(problem.message);
        setState("locked");
      },
    );
    arrive();
  }, []);
  useLayoutEffect(() => {
    const ends = [
      hear("back", () => state === "away" && enter()),
      hear("refused", () => {
        dropToken();
        setRefused((said) => said ?? "That token is not known here (any more).");
        setState("locked");
      }),
    ];
    return () => ends.forEach((end) => end());
  }, [state]);
  const given = (text) => {
    keepToken(text);
    setRefused(null);
    enter();
  };
  if (state === "locked") return html`<${AskForToken} refused=${refused} onGiven=${given} />`;
  if (state === "away") return html`<${Away} />`;
  return state === "open" ? html`<${Page} />` : null;
}

applyTheme();
render(html`<${App} />`, document.getElementById("app"));
