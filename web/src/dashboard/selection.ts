// SPDX-License-Identifier: MIT
// Runs that the reader ticked to compare, of any study.
import { signal } from "@preact/signals";
import { keyText, type RunKey } from "./route";

export const ticked = signal<RunKey[]>([]);

export function isTicked(key: RunKey): boolean {
  return ticked.value.some((other) => keyText(other) === keyText(key));
}

export function setTicked(keys: RunKey[], on: boolean): void {
  const texts = new Set(keys.map(keyText));
  const others = ticked.value.filter((key) => !texts.has(keyText(key)));
  ticked.value = on ? [...others, ...keys] : others;
}
