// SPDX-License-Identifier: MIT
// What a logarithmic axis does with zero and below: it draws them at the smallest positive value.
import type { Curve } from "./series";

export interface Raised {
  curve: Curve;
  /** How many of its values were raised. */
  count: number;
}

/** The smallest positive value of all curves; null where there is none. */
export function smallestPositive(curves: Curve[]): number | null {
  let least = Infinity;
  for (const curve of curves) {
    for (const column of [curve.y, curve.low]) {
      for (const value of column) if (value > 0 && value < least) least = value;
    }
  }
  return Number.isFinite(least) ? least : null;
}

export function raise(curve: Curve, floor: number): Raised {
  let count = 0;
  const lifted = (column: Float64Array, counts: boolean) =>
    column.map((value) => {
      if (Number.isNaN(value) || value >= floor) return value;
      if (counts) count += 1;
      return floor;
    });
  const y = lifted(curve.y, true);
  return { curve: { ...curve, y, low: lifted(curve.low, false), high: lifted(curve.high, false) }, count };
}

/** Whether values span more than a power of ten, all of them positive. */
export function spansDecade(curves: Curve[]): boolean {
  let min = Infinity;
  let max = -Infinity;
  for (const curve of curves) {
    for (const value of curve.y) {
      if (!Number.isFinite(value)) continue;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  }
  return min > 0 && max > 10 * min;
}
