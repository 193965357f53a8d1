// SPDX-License-Identifier: MIT
// Which stretch of a chart is seen: the whole of it, or what the reader zoomed to.
import { within } from "../data/decimate";
import type { LineFigure, Series } from "./figure";
import { padded, scale, type Range } from "./scale";

export interface Zoom {
  x: Range | null;
  y: Range | null;
}

export const WHOLE: Zoom = { x: null, y: null };

export interface View {
  x: Range;
  y: Range;
}

/** The extent of x over some series; null where they have no points. */
export function xExtent(series: Series[], log: boolean): Range | null {
  let low = Infinity;
  let high = -Infinity;
  for (const { curve } of series) {
    // x rises, so its ends are its extent.
    const first = log ? curve.x.find((value) => value > 0) : curve.x[0];
    const last = curve.x[curve.x.length - 1];
    if (first === undefined || last === undefined) continue;
    low = Math.min(low, first);
    high = Math.max(high, last);
  }
  if (low > high) return null;
  return low === high ? padded(low, high, log) : [low, high];
}

/** The extent of y over what lies within a stretch of x. */
export function yExtent(series: Series[], x: Range, band: boolean): Range | null {
  let low = Infinity;
  let high = -Infinity;
  const take = (value: number) => {
    if (!Number.isFinite(value)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const { curve } of series) {
    const [from, to] = within(curve.x, x[0], x[1]);
    for (let at = from; at < to; at += 1) {
      const here = curve.x[at] as number;
      if (here < x[0] || here > x[1]) continue;
      take(curve.y[at] as number);
      if (!band) continue;
      take(curve.low[at] as number);
      take(curve.high[at] as number);
    }
  }
  return low <= high ? [low, high] : null;
}

export function viewOf(figure: LineFigure, shown: Series[], zoom: Zoom, band: boolean): View | null {
  const x = zoom.x ?? xExtent(shown, figure.xLog);
  if (!x) return null;
  if (zoom.y) return { x, y: zoom.y };
  const extent = yExtent(shown, x, band) ?? yExtent(shown, [-Infinity, Infinity], band);
  if (!extent) return null;
  let [low, high] = extent;
  for (const level of figure.levels) {
    // A level far from the curves would flatten them.
    const near = figure.yLog ? level.value / high < 10 && low / level.value < 10 : true;
    if (!near) continue;
    low = Math.min(low, level.value);
    high = Math.max(high, level.value);
  }
  return { x, y: padded(low, high, figure.yLog) };
}

/** A stretch scaled about a point of it, in the axis's own measure. */
export function zoomed(range: Range, about: number, factor: number, log: boolean): Range {
  const measure = scale(range, [0, 1], log);
  const part = measure(about);
  return [measure.invert(part - part * factor), measure.invert(part + (1 - part) * factor)];
}

/** A stretch kept inside another; null where it is the whole of it. */
export function clamped(range: Range, whole: Range): Range | null {
  const low = Math.max(range[0], whole[0]);
  const high = Math.min(range[1], whole[1]);
  if (!(high > low) || (low <= whole[0] && high >= whole[1])) return null;
  return [low, high];
}
