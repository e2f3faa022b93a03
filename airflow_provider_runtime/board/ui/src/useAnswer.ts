/** One question to the API: its answer, its failure, and a way to ask again. It is asked again by itself now and then. */
import { useCallback, useEffect, useRef, useState } from "react";

export type Answer<T> = { data: T | null; failure: string | null; reload: () => void };

/** Milliseconds between two questions: while something is at work or was just asked for, and else. */
const BUSY = 5_000;
const IDLE = 60_000;
const JUST = 60_000;

export const useAnswer = <T,>(question: () => Promise<T>, key: string, isBusy: (data: T) => boolean): Answer<T> => {
  const [count, setCount] = useState(0);
  const [answer, setAnswer] = useState<{ key: string; data: T | null; failure: string | null }>({ key: "", data: null, failure: null });
  const [answered, setAnswered] = useState("");
  const changedAt = useRef(-Infinity);
  const asked = `${key}#${count}`;
  const askAgain = () => setCount((value) => value + 1);

  useEffect(() => {
    let isCurrent = true;
    const keep = (change: (before: typeof answer) => typeof answer) => {
      if (!isCurrent) return;
      setAnswer(change);
      setAnswered(asked);
    };
    question().then(
      (data) => keep(() => ({ key, data, failure: null })),
      // What was seen before stays, with what went wrong beside it; another question begins with nothing.
      (error: unknown) => keep((before) => ({ key, data: before.key === key ? before.data : null, failure: error instanceof Error ? error.message : String(error) })),
    );
    return () => {
      isCurrent = false;
    };
    // The key says what is asked; the function is made again at each rendering.
  }, [asked]);

  useEffect(() => {
    if (answered !== asked) return;
    const isJustChanged = performance.now() - changedAt.current < JUST;
    const pause = isJustChanged || (answer.data !== null && isBusy(answer.data)) ? BUSY : IDLE;
    const timer = setInterval(() => document.hidden || askAgain(), pause);
    return () => clearInterval(timer);
  }, [answered, asked]);

  /** To be called when something was changed: what follows of it comes a little later. */
  const reload = useCallback(() => {
    changedAt.current = performance.now();
    askAgain();
  }, []);
  return { data: answer.data, failure: answer.failure, reload };
};
