// SPDX-License-Identifier: MIT
// Min-max standardisation: (F - min) / (max - min), over all runs of a task without the start.
import type { Optimizer } from "../model";
import { finished, type Reader } from "./series";

export interface Span {
  min: number;
  max: number;
}

/** The least and the greatest value of runs that did not diverge; null where there is none. */
export function spanOf(optimizers: Optimizer[], read: Reader): Span | null {
  let min = Infinity;
  let max = -Infinity;
  for (const optimizer of optimizers) {
    for (const run of finished(optimizer.runs)) {
      for (let place = 1; place < run.points.epoch.length; place += 1) {
        const value = read(run.points, place);
        if (value === null || value === undefined || !Number.isFinite(value)) continue;
        min = Math.min(min, value);
        max = Math.max(max, value);
      }
    }
  }
  return min <= max ? { min, max } : null;
}

export function standardised(read: Reader, span: Span): Reader {
  const range = span.max > span.min ? span.max - span.min : 1;
  return (points, place) => {
    const value = read(points, place);
    return value === null || value === undefined ? null : (value - span.min) / range;
  };
}
