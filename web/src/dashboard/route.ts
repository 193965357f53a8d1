// SPDX-License-Identifier: MIT
// Where in the dashboard the reader is, by the part of the address after #.
import { signal } from "@preact/signals";
import { placeText } from "../report/place";

/** A run of a study of a store. */
export interface RunKey {
  store: number;
  study: number;
  run: number;
}

export type Route =
  | { page: "list" }
  | { page: "study"; store: number; study: number; tab: "results" | "runs"; task: string | null }
  | { page: "run"; key: RunKey }
  | { page: "compare"; runs: RunKey[] }
  | { page: "unknown" };

function runKey(text: string): RunKey | null {
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(text);
  return match ? { store: Number(match[1]), study: Number(match[2]), run: Number(match[3]) } : null;
}

export function keyText(key: RunKey): string {
  return `${key.store}.${key.study}.${key.run}`;
}

export function parseRoute(hash: string): Route {
  const [path = "", ...query] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/");
  const numbers = parts.slice(1).map((part) => (/^\d+$/.test(part) ? Number(part) : NaN));
  const [first = NaN, second = NaN, third = NaN] = numbers;
  switch (parts[0]) {
    case "":
      return { page: "list" };
    case "study":
      if (Number.isNaN(first + second)) return { page: "unknown" };
      return {
        page: "study",
        store: first,
        study: second,
        tab: parts[3] === "runs" ? "runs" : "results",
        task: new URLSearchParams(query.join("?")).get("task"),
      };
    case "run":
      if (Number.isNaN(first + second + third)) return { page: "unknown" };
      return { page: "run", key: { store: first, study: second, run: third } };
    case "compare":
      return { page: "compare", runs: (parts[1] ?? "").split(",").flatMap((text) => runKey(text) ?? []) };
    default:
      return { page: "unknown" };
  }
}

export const links = {
  list: "#/",
  study: (store: number, study: number) => `#/study/${store}/${study}`,
  task: (store: number, study: number, task: string) => `#/study/${store}/${study}?${placeText({ task })}`,
  runs: (store: number, study: number) => `#/study/${store}/${study}/runs`,
  run: (key: RunKey) => `#/run/${key.store}/${key.study}/${key.run}`,
  compare: (keys: RunKey[]) => `#/compare/${keys.map(keyText).join(",")}`,
};

export const route = signal<Route>({ page: "list" });

export function startRouting(): void {
  let page = "";
  const read = () => {
    const { hash } = window.location;
    const before = page;
    page = hash.split("?")[0] ?? "";
    route.value = parseRoute(hash);
    // Within a page, the browser and the page know where to go.
    if (page !== before) window.scrollTo(0, 0);
  };
  window.addEventListener("hashchange", read);
  read();
}
