// SPDX-License-Identifier: MIT
// The overview as the server tells it, and whether it can be heard.
import { signal } from "@preact/signals";
import type { Overview } from "../model";
import { api } from "./api";

export const overview = signal<Overview | null>(null);
export const connection = signal<"connecting" | "open" | "lost">("connecting");

const RETRY = 3000;

export function startLive(): void {
  void api.overview().then(
    (first) => (overview.value ??= first),
    () => undefined,
  );
  listen();
}

function listen(): void {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => (connection.value = "open"));
  source.addEventListener("overview", (event) => {
    connection.value = "open";
    overview.value = JSON.parse((event as MessageEvent<string>).data) as Overview;
  });
  source.addEventListener("error", () => {
    connection.value = "lost";
    // A browser tries again by itself, unless the server's answer was final.
    if (source.readyState !== EventSource.CLOSED) return;
    source.close();
    setTimeout(listen, RETRY);
  });
}
