// The library that draws, and what every view shares: asking the server, and moments of the page.
export {
  html, render, useState, useEffect, useLayoutEffect, useRef, useMemo,
} from "./vendor/htm/standalone.module.js";
import { useEffect, useLayoutEffect, useState } from "./vendor/htm/standalone.module.js";

const page = new EventTarget();

/** Tell every part of the page: "changed" (memories were), "back" (the server is), "refused" (the token was). */
export function tell(what) {
  page.dispatchEvent(new Event(what));
}

/** Hear it, until the function that is returned is called. */
export function hear(what, then) {
  page.addEventListener(what, then);
  return () => page.removeEventListener(what, then);
}

/** A value that several parts of the page look at. */
export function shared(first) {
  const watching = new Set();
  let value = first;
  const set = (next) => {
    value = typeof next === "function" ? next(value) : next;
    watching.forEach((draw) => draw({}));
  };
  const use = () => {
    const [, draw] = useState({});
    useLayoutEffect(() => {
      watching.add(draw);
      return () => watching.delete(draw);
    }, []);
    return value;
  };
  return { get: () => value, set, use };
}

/**
 * What the server answers, asked anew whenever `about` changes, memories were changed, or the server came back.
 * Late answers to earlier questions are dropped; the last answer stays until the next one is there.
 */
export function useAnswer(ask, about) {
  const [state, setState] = useState({ answer: null, problem: null, busy: true, about: null });
  const [turn, setTurn] = useState(0);
  useLayoutEffect(() => {
    const again = () => setTurn((number) => number + 1);
    const ends = [hear("changed", again), hear("back", again)];
    return () => ends.forEach((end) => end());
  }, []);
  const key = JSON.stringify(about);
  useEffect(() => {
    const stop = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    Promise.resolve(ask(stop.signal)).then(
      (answer) => stop.signal.aborted || setState({ answer, problem: null, busy: false, about: key }),
      (problem) =>
        stop.signal.aborted ||
        setState((before) => ({ answer: before.about === key ? before.answer : null, problem, busy: false, about: key })),
    );
    return () => stop.abort();
  }, [key, turn]);
  return { ...state, busy: state.busy || state.about !== key };
}

/** A value once it has rested for a moment. */
export function useRested(value, milliseconds) {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return rested;
}
