// SPDX-License-Identifier: MIT
// Curves over seeds: the mean, and the band from the smallest to the largest.
import type { Points, Run } from "../model";

/** Numbers along a curve; NaN where there is none. */
export interface Curve {
  x: Float64Array;
  y: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** How many runs it is the mean of, at most. */
  runs: number;
}

export type Reader = (points: Points, place: number) => number | null | undefined;

/** Runs that a curve may show. */
export function finished(runs: Run[]): Run[] {
  return runs.filter((run) => !run.diverged && run.points.epoch.length > 0);
}

function finite(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** The mean at each place, over the runs that have the place and did not diverge. */
export function meanCurve(runs: Run[], x: Reader, y: Reader, first = 0): Curve {
  const used = finished(runs);
  const length = Math.max(0, ...used.map((run) => run.points.epoch.length));
  const curve = emptyCurve(Math.max(0, length - first), used.length);
  for (let place = first; place < length; place += 1) {
    const at = place - first;
    let sumX = 0;
    let countX = 0;
    let sumY = 0;
    let countY = 0;
    let low = Infinity;
    let high = -Infinity;
    for (const run of used) {
      if (place >= run.points.epoch.length) continue;
      const valueX = x(run.points, place);
      const valueY = y(run.points, place);
      if (finite(valueX)) {
        sumX += valueX;
        countX += 1;
      }
      if (!finite(valueY)) continue;
      sumY += valueY;
      countY += 1;
      low = Math.min(low, valueY);
      high = Math.max(high, valueY);
    }
    curve.x[at] = countX > 0 ? sumX / countX : NaN;
    if (countY === 0) continue;
    curve.y[at] = sumY / countY;
    curve.low[at] = low;
    curve.high[at] = high;
  }
  return compact(curve);
}

/** The ratio of two means at each place, with a band of the runs' own ratios. */
export function ratioCurve(runs: Run[], x: Reader, above: Reader, below: Reader, first = 0): Curve {
  const ratio: Reader = (points, place) => {
    const top = above(points, place);
    const bottom = below(points, place);
    return finite(top) && finite(bottom) && bottom !== 0 ? top / bottom : null;
  };
  const curve = meanCurve(runs, x, ratio, first);
  const tops = meanCurve(runs, x, above, first);
  const bottoms = meanCurve(runs, x, below, first);
  if (tops.y.length !== curve.y.length || bottoms.y.length !== curve.y.length) return curve;
  for (let at = 0; at < curve.y.length; at += 1) {
    const value = (tops.y[at] as number) / (bottoms.y[at] as number);
    if (Number.isFinite(value) && Number.isFinite(curve.y[at])) curve.y[at] = value;
  }
  return curve;
}

/** The sample standard deviation where two or more runs have a value; a start that all share has none. */
export function deviationCurve(runs: Run[], x: Reader, y: Reader): Curve {
  const used = finished(runs);
  const mean = meanCurve(used, x, y);
  for (let place = 0; place < mean.y.length; place += 1) {
    let squares = 0;
    let count = 0;
    for (const run of used) {
      const value = place < run.points.epoch.length ? y(run.points, place) : null;
      if (!finite(value)) continue;
      squares += (value - (mean.y[place] as number)) ** 2;
      count += 1;
    }
    const commonStart = place === 0 && squares === 0;
    mean.y[place] = count > 1 && !commonStart ? Math.sqrt(squares / (count - 1)) : NaN;
  }
  mean.low.fill(NaN);
  mean.high.fill(NaN);
  return mean;
}

export function emptyCurve(length: number, runs: number): Curve {
  const column = () => new Float64Array(length).fill(NaN);
  return { x: column(), y: column(), low: column(), high: column(), runs };
}

/** Without the places that have no x. */
function compact(curve: Curve): Curve {
  return pick(curve, (at) => !Number.isNaN(curve.x[at]));
}

/** Without the places that were not measured, a line goes on to the next that was; x rises. */
export function measuredOnly(curve: Curve): Curve {
  return inOrder(pick(curve, (at) => Number.isFinite(curve.y[at])));
}

/** Where a slow run ends early, the mean of seconds may fall back; look-ups want x in order. */
function inOrder(curve: Curve): Curve {
  if (curve.x.every((x, at) => at === 0 || x >= (curve.x[at - 1] as number))) return curve;
  const order = Array.from(curve.x.keys()).sort((a, b) => (curve.x[a] as number) - (curve.x[b] as number));
  const sorted = (column: Float64Array) => Float64Array.from(order, (at) => column[at] as number);
  return {
    ...curve,
    x: sorted(curve.x),
    y: sorted(curve.y),
    low: sorted(curve.low),
    high: sorted(curve.high),
  };
}

function pick(curve: Curve, wanted: (at: number) => boolean): Curve {
  if (curve.x.every((_, at) => wanted(at))) return curve;
  const keep = (column: Float64Array) => column.filter((_, at) => wanted(at));
  return { ...curve, x: keep(curve.x), y: keep(curve.y), low: keep(curve.low), high: keep(curve.high) };
}

/** Without its first place. */
export function withoutStart(curve: Curve): Curve {
  return {
    ...curve,
    x: curve.x.slice(1),
    y: curve.y.slice(1),
    low: curve.low.slice(1),
    high: curve.high.slice(1),
  };
}

export function hasValues(curve: Curve): boolean {
  return curve.y.some(Number.isFinite);
}

/** The height of a start that is more than twice as high as all that follows; null where it is not. */
export function farStart(curves: Curve[]): number | null {
  let start = 0;
  let later = 0;
  for (const curve of curves) {
    curve.y.forEach((value, at) => {
      if (!Number.isFinite(value)) return;
      if (at === 0) start = Math.max(start, value);
      else later = Math.max(later, value);
    });
  }
  return later > 0 && start > 2 * later ? start : null;
}
