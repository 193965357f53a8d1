// SPDX-License-Identifier: MIT
// Thinning keeps what a reader could see.
import { describe, expect, it } from "vitest";
import { decimate, within } from "../src/data/decimate";

describe("decimate", () => {
  const count = 20_000;
  const y = Float64Array.from({ length: count }, (_, at) => Math.sin(at / 50) + ((at * 7919) % 101) / 500);
  y[12_345] = 99;
  y[777] = -99;
  const column = (place: number) => (place / count) * 600;

  function extremes(places: number[]): [number, number][] {
    const found: [number, number][] = [];
    for (const place of places) {
      const here = (found[Math.floor(column(place))] ??= [Infinity, -Infinity]);
      here[0] = Math.min(here[0], y[place] as number);
      here[1] = Math.max(here[1], y[place] as number);
    }
    return found;
  }

  it("keeps at most four places of a column", () => {
    expect(decimate(y, column).length).toBeLessThanOrEqual(4 * 600);
  });

  it("keeps both extremes, both ends and the extremes of every column", () => {
    const kept = decimate(y, column);
    expect(kept).toContain(12_345);
    expect(kept).toContain(777);
    expect(kept[0]).toBe(0);
    expect(kept.at(-1)).toBe(count - 1);
    const everything = Array.from({ length: count }, (_, at) => at);
    expect(extremes(kept)).toEqual(extremes(everything));
  });

  it("keeps the order, and a short curve whole", () => {
    const kept = decimate(y, column);
    expect(kept).toEqual([...kept].sort((a, b) => a - b));
    expect(new Set(kept).size).toBe(kept.length);
    expect(decimate([5, 3, 4], (place) => place * 100)).toEqual([0, 1, 2]);
    expect(decimate([], (place) => place)).toEqual([]);
  });
});

describe("within", () => {
  const x = [0, 1, 2, 3, 4, 5];
  it("gives a stretch and its neighbours", () => {
    expect(within(x, 2, 3)).toEqual([1, 5]);
    expect(within(x, -1, 9)).toEqual([0, 6]);
    expect(within(x, 2.4, 2.6)).toEqual([2, 4]);
    expect(within([], 0, 1)).toEqual([0, 0]);
  });
  it("keeps all of equal places", () => {
    expect(within([0, 1, 1, 1, 2, 3], 1, 1)).toEqual([0, 5]);
  });
});
