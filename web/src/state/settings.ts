// SPDX-License-Identifier: MIT
// What the reader chose for all charts and tables at once.
import { signal } from "@preact/signals";
import type { Study } from "../model";

export type XAxis = "epoch" | "step" | "evaluations" | "seconds";
export type YScale = "auto" | "log" | "linear";

export const xAxis = signal<XAxis>("epoch");
export const yScale = signal<YScale>("auto");
export const standardise = signal(false);
export const showBand = signal(true);

/** Labels of optimizers that the legend has switched off. */
export const hidden = signal<ReadonlySet<string>>(new Set());

/** While true, everything is drawn, near the viewport or not. */
export const printing = signal(false);

const met = new Set<string>();

/** Ablations start switched off: they are there to be asked for. Called again, it changes no choice. */
export function meet(studies: Study[]): void {
  const off = new Set(hidden.value);
  for (const optimizer of studies.flatMap((study) => study.tasks.flatMap((task) => task.optimizers))) {
    if (met.has(optimizer.label)) continue;
    met.add(optimizer.label);
    if (optimizer.ablation) off.add(optimizer.label);
  }
  if (off.size !== hidden.value.size) hidden.value = off;
}

export function isShown(label: string): boolean {
  return !hidden.value.has(label);
}

export function toggle(label: string): void {
  const next = new Set(hidden.value);
  if (!next.delete(label)) next.add(label);
  hidden.value = next;
}

/** Shows one of the labels alone; asked for again, all of them. */
export function isolate(label: string, all: string[]): void {
  const alone = all.every((other) => (other === label) === isShown(other));
  hidden.value = alone ? new Set() : new Set(all.filter((other) => other !== label));
}

export function showAll(): void {
  hidden.value = new Set();
}
