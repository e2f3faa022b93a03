/** One question to the API: its answer, its failure, and a way to ask again. */
import { useCallback, useEffect, useState } from "react";

export type Answer<T> = { data: T | null; failure: string | null; isLoading: boolean; reload: () => void };

export const useAnswer = <T,>(question: () => Promise<T>, key: string): Answer<T> => {
  const [count, setCount] = useState(0);
  const [answer, setAnswer] = useState<{ key: string; data: T | null; failure: string | null }>({ key: "", data: null, failure: null });
  const asked = `${key}#${count}`;

  useEffect(() => {
    let isCurrent = true;
    question().then(
      (data) => isCurrent && setAnswer({ key: asked, data, failure: null }),
      (error: unknown) => isCurrent && setAnswer({ key: asked, data: null, failure: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isCurrent = false;
    };
    // The key says what is asked; the function is made again at each rendering.
  }, [asked]);

  const reload = useCallback(() => setCount((value) => value + 1), []);
  return { data: answer.data, failure: answer.failure, isLoading: answer.key !== asked, reload };
};
