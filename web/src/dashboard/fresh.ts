// SPDX-License-Identifier: MIT
// Keeps something fetched as new as the server has it, without asking often.
import { useEffect, useRef, useState } from "preact/hooks";
import { connection } from "./live";

const PAUSE = 5000;

export interface Fetched<T> {
  data: T | null;
  error: string | null;
}

/** Fetches at once, and again when the revision changes, at most every five seconds. Old data stay. */
export function useFresh<T>(key: string, revision: string | undefined, fetch: () => Promise<T>): Fetched<T> {
  const [fetched, setFetched] = useState<Fetched<T> & { key: string }>({ key, data: null, error: null });
  const last = useRef({ key: "", time: 0 });
  useEffect(() => {
    let wanted = true;
    const same = last.current.key === key;
    const wait = same ? Math.max(0, last.current.time + PAUSE - Date.now()) : 0;
    const timer = setTimeout(() => {
      last.current = { key, time: Date.now() };
      fetch().then(
        (data) => wanted && setFetched({ key, data, error: null }),
        (error: unknown) =>
          wanted &&
          setFetched((before) => ({
            key,
            data: before.key === key ? before.data : null,
            error: error instanceof Error ? error.message : String(error),
          })),
      );
    }, wait);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
    // What failed is asked for once more, and again when the server is back.
  }, [key, revision, fetched.error !== null && connection.value]);
  return fetched.key === key ? fetched : { data: null, error: null };
}
