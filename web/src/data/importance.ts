// SPDX-License-Identifier: MIT
// Which option mattered: how much of the differences between settings its value alone explains.
import type { Grid } from "../model";
import { rankedSettings, variedOptions } from "./grid";

export interface Importance {
  option: string;
  /** Between-group over total sum of squares of the ranks by loss, in 0..1; null where nothing differs. */
  share: number | null;
}

/** Ranks from 0 up; equal values share their mean rank. */
export function ranks(values: number[]): number[] {
  const order = values.map((_, at) => at).sort((a, b) => (values[a] as number) - (values[b] as number));
  const result = new Array<number>(values.length).fill(0);
  let start = 0;
  while (start < order.length) {
    let end = start + 1;
    while (end < order.length && values[order[end] as number] === values[order[start] as number]) end += 1;
    for (let at = start; at < end; at += 1) result[order[at] as number] = (start + end - 1) / 2;
    start = end;
  }
  return result;
}

/** The share of the variance of `values` that lies between groups. */
export function explained(values: number[], groups: number[]): number | null {
  const count = values.length;
  if (count < 2) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const sums = new Map<number, { sum: number; count: number }>();
  let total = 0;
  values.forEach((value, at) => {
    total += (value - mean) ** 2;
    const group = sums.get(groups[at] as number) ?? { sum: 0, count: 0 };
    group.sum += value;
    group.count += 1;
    sums.set(groups[at] as number, group);
  });
  if (total === 0) return null;
  let between = 0;
  for (const group of sums.values()) between += group.count * (group.sum / group.count - mean) ** 2;
  return between / total;
}

/** Options by what they explain, the greatest first. */
export function importances(grid: Grid): Importance[] {
  const settings = rankedSettings(grid);
  const byRank = ranks(settings.map((setting) => grid.loss[setting] as number));
  return variedOptions(grid)
    .map((option) => ({
      option,
      share: explained(
        byRank,
        settings.map((setting) => grid.settings[option]?.[setting] ?? -1),
      ),
    }))
    .sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
}
