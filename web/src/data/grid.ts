// SPDX-License-Identifier: MIT
// A grid of settings seen along one or two of its options.
import type { Grid } from "../model";

/** Options with more than one value, in the grid's order. */
export function variedOptions(grid: Grid): string[] {
  return Object.keys(grid.values).filter((name) => (grid.values[name] ?? []).length > 1);
}

export function settingCount(grid: Grid): number {
  return grid.loss.length;
}

export interface Cell {
  /** Places of the two values. */
  x: number;
  y: number;
  settings: number;
  diverged: number;
  pruned: number;
  /** Least loss over all other options; null where no setting of the cell got to its end. */
  best: number | null;
}

export interface HeatMap {
  xOption: string;
  yOption: string | null;
  xValues: string[];
  yValues: string[];
  cells: Cell[];
}

/** The best of each pair of values over the other options; with one option only, a single row. */
export function heatMap(grid: Grid, xOption: string, yOption: string | null): HeatMap {
  const xValues = grid.values[xOption] ?? [];
  const yValues = yOption === null ? [""] : (grid.values[yOption] ?? []);
  const cells: Cell[] = [];
  yValues.forEach((_, y) =>
    xValues.forEach((__, x) => cells.push({ x, y, settings: 0, diverged: 0, pruned: 0, best: null })),
  );
  const diverged = new Set(grid.diverged);
  const pruned = new Set(grid.pruned);
  for (let setting = 0; setting < settingCount(grid); setting += 1) {
    const x = grid.settings[xOption]?.[setting] ?? 0;
    const y = yOption === null ? 0 : (grid.settings[yOption]?.[setting] ?? 0);
    const cell = cells[y * xValues.length + x];
    if (!cell) continue;
    cell.settings += 1;
    if (diverged.has(setting)) {
      cell.diverged += 1;
      continue;
    }
    if (pruned.has(setting)) {
      cell.pruned += 1;
      continue;
    }
    const loss = grid.loss[setting];
    if (loss !== null && loss !== undefined && (cell.best === null || loss < cell.best)) cell.best = loss;
  }
  return { xOption, yOption, xValues, yValues, cells };
}

/** Settings that can be ranked: they neither diverged nor were taken out. */
export function rankedSettings(grid: Grid): number[] {
  const out = new Set([...grid.diverged, ...grid.pruned]);
  const places: number[] = [];
  grid.loss.forEach((loss, setting) => {
    if (loss !== null && Number.isFinite(loss) && !out.has(setting)) places.push(setting);
  });
  return places;
}

export interface ValueGroup {
  value: string;
  losses: number[];
  settings: number;
  diverged: number;
}

/** Losses by the value of one option. */
export function byValue(grid: Grid, option: string): ValueGroup[] {
  const groups = (grid.values[option] ?? []).map((value) => ({
    value,
    losses: [] as number[],
    settings: 0,
    diverged: 0,
  }));
  const places = grid.settings[option] ?? [];
  const diverged = new Set(grid.diverged);
  for (let setting = 0; setting < settingCount(grid); setting += 1) {
    const group = groups[places[setting] ?? -1];
    if (!group) continue;
    group.settings += 1;
    if (diverged.has(setting)) group.diverged += 1;
  }
  for (const setting of rankedSettings(grid)) {
    groups[places[setting] ?? -1]?.losses.push(grid.loss[setting] as number);
  }
  return groups;
}
