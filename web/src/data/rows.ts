// SPDX-License-Identifier: MIT
// Figures of an optimizer's row that the tables need.
import type { Column, Grid, Optimizer, Row, Study } from "../model";

/** The mean of what is there; null where nothing is. */
export function meanOf(values: Column | undefined): number | null {
  const known = (values ?? []).filter((value): value is number => value !== null && Number.isFinite(value));
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

/** A mark as a number that sorts: better above even above worse. */
export function markOrder(mark: Row["mark"] | undefined): number | null {
  if (mark === "+") return 1;
  if (mark === "~") return 0;
  return mark === "-" ? -1 : null;
}

/** Optimizers of a study by label, in the order they are first met. */
export function optimizersOf(study: Study): Optimizer[] {
  const met = new Map<string, Optimizer>();
  for (const optimizer of study.tasks.flatMap((task) => task.optimizers)) {
    if (!met.has(optimizer.label)) met.set(optimizer.label, optimizer);
  }
  return [...met.values()];
}

/** The place of the chosen value among an option's values; 10 and 1e1 count as the same. */
export function chosenPlace(grid: Grid, option: string, row: Row | null): number | null {
  const chosen = row?.options[option];
  if (chosen === undefined) return null;
  const values = grid.values[option] ?? [];
  const exact = values.indexOf(chosen);
  if (exact >= 0) return exact;
  const alike = values.findIndex((value) => Number(value) === Number(chosen));
  return alike >= 0 ? alike : null;
}
