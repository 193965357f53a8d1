// SPDX-License-Identifier: MIT
// Asks the server; its errors become sentences.
import type { RunFilter } from "../data/filters";
import type { Direction } from "../data/sorting";
import type { Overview, RunDetail, RunPage, Study } from "../model";
import type { RunKey } from "./route";

async function get<T>(address: string): Promise<T> {
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  const body = (await response.json().catch(() => null)) as (T & { error?: unknown }) | null;
  if (!response.ok) {
    throw new Error(typeof body?.error === "string" ? body.error : `the server answered ${response.status}`);
  }
  if (body === null) throw new Error("the answer is not JSON");
  return body;
}

export interface RunQuery extends RunFilter {
  order: string;
  direction: Direction;
  offset: number;
  count: number;
}

function queryText(query: RunQuery): string {
  return Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

export const api = {
  overview: () => get<Overview>("/api/overview"),
  study: (store: number, study: number) => get<Study>(`/api/studies/${store}/${study}`),
  runs: (store: number, study: number, query: RunQuery) =>
    get<RunPage>(`/api/runs/${store}/${study}?${queryText(query)}`),
  run: (key: RunKey) => get<RunDetail>(`/api/run/${key.store}/${key.study}/${key.run}`),
};
