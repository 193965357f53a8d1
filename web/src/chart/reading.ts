// SPDX-License-Identifier: MIT
// What the crosshair reads: the value of each series at a place of x.
import { bisectCenter, bisectLeft, bisectRight } from "d3-array";
import { number } from "../data/format";
import type { LineFigure, Series } from "./figure";
import type { Range } from "./scale";

export interface Reading {
  series: Series;
  x: number;
  y: number;
  low: number;
  high: number;
}

/** Every series' nearest point, the least value first; a series that ended well before is not read. */
export function readings(shown: Series[], x: number): Reading[] {
  const found: Reading[] = [];
  for (const series of shown) {
    const { curve } = series;
    if (curve.x.length === 0) continue;
    const at = bisectCenter(curve.x, x);
    const here = curve.x[at] as number;
    const neighbour = curve.x[at === 0 ? 1 : at - 1] ?? here;
    const beyond = x < (curve.x[0] as number) || x > (curve.x[curve.x.length - 1] as number);
    if (beyond && Math.abs(x - here) > Math.abs(here - neighbour)) continue;
    found.push({
      series,
      x: here,
      y: curve.y[at] as number,
      low: curve.low[at] as number,
      high: curve.high[at] as number,
    });
  }
  return found.sort((a, b) => a.y - b.y);
}

/** The measured x nearest to a place, over all series. */
export function snap(shown: Series[], x: number): number | null {
  let best: number | null = null;
  for (const { curve } of shown) {
    if (curve.x.length === 0) continue;
    const here = curve.x[bisectCenter(curve.x, x)] as number;
    if (best === null || Math.abs(here - x) < Math.abs(best - x)) best = here;
  }
  return best;
}

/** The next measured x to the right (1) or to the left (-1), inside what is seen. */
export function step(shown: Series[], from: number, direction: 1 | -1, seen: Range): number {
  let best: number | null = null;
  for (const { curve } of shown) {
    const here = curve.x[direction < 0 ? bisectLeft(curve.x, from) - 1 : bisectRight(curve.x, from)];
    if (here === undefined || here < seen[0] || here > seen[1]) continue;
    if (best === null || Math.abs(here - from) < Math.abs(best - from)) best = here;
  }
  return best ?? from;
}

/** The readings as one sentence, for those who listen. */
export function spoken(figure: LineFigure, shown: Series[], x: number): string {
  const words = readings(shown, x).map((reading) => `${reading.series.label} ${number(reading.y)}`);
  return `${figure.place(x)}: ${words.join(", ") || "no values"}.`;
}
