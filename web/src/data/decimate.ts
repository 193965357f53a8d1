// SPDX-License-Identifier: MIT
// Thins long curves to what a screen can show, without losing their extremes.
import { bisectLeft, bisectRight } from "d3-array";

/** Places [from, to) that lie within a stretch of x, and one neighbour on each side of it. */
export function within(x: ArrayLike<number>, low: number, high: number): [number, number] {
  return [Math.max(0, bisectLeft(x, low) - 1), Math.min(x.length, bisectRight(x, high) + 1)];
}

/**
 * Places to draw of those in [from, to): of each pixel column the first, the last, the least and the
 * greatest.
 * `column` tells the column of a place; columns rise, values are finite.
 */
export function decimate(
  y: ArrayLike<number>,
  column: (place: number) => number,
  from = 0,
  to = y.length,
): number[] {
  const kept: number[] = [];
  let start = from;
  while (start < to) {
    const here = Math.floor(column(start));
    let end = start + 1;
    while (end < to && Math.floor(column(end)) === here) end += 1;
    keepExtremes(y, start, end, kept);
    start = end;
  }
  return kept;
}

function keepExtremes(y: ArrayLike<number>, start: number, end: number, kept: number[]): void {
  let least = start;
  let greatest = start;
  for (let place = start + 1; place < end; place += 1) {
    const value = y[place] as number;
    if (value < (y[least] as number)) least = place;
    if (value > (y[greatest] as number)) greatest = place;
  }
  const places = [start, Math.min(least, greatest), Math.max(least, greatest), end - 1];
  for (const place of places) if (kept[kept.length - 1] !== place) kept.push(place);
}
