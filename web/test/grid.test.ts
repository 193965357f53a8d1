// SPDX-License-Identifier: MIT
// Grids as heat maps, and which option mattered.
import { describe, expect, it } from "vitest";
import { lossPart } from "../src/chart/heat_map";
import { byValue, heatMap, variedOptions } from "../src/data/grid";
import { explained, importances, ranks } from "../src/data/importance";
import { chosenPlace } from "../src/data/rows";
import type { Row } from "../src/model";
import { smallGrid } from "./fixtures";

describe("heat maps", () => {
  it("see only options that vary", () => {
    expect(variedOptions(smallGrid)).toEqual(["lr", "beta"]);
  });

  it("have the best of each cell and its diverged", () => {
    const map = heatMap(smallGrid, "lr", "beta");
    expect(map.cells).toHaveLength(6);
    expect(map.cells.find((cell) => cell.x === 2 && cell.y === 1)).toMatchObject({
      best: null,
      diverged: 1,
      settings: 1,
    });
    expect(map.cells.find((cell) => cell.x === 1 && cell.y === 0)?.best).toBe(2);
  });

  it("take the best over the other options", () => {
    const map = heatMap(smallGrid, "lr", null);
    expect(map.cells.map((cell) => cell.best)).toEqual([3, 2, 1]);
    expect(map.cells.map((cell) => cell.diverged)).toEqual([0, 0, 1]);
  });

  it("leave pruned settings out", () => {
    const map = heatMap({ ...smallGrid, pruned: [4] }, "lr", null);
    expect(map.cells[2]).toMatchObject({ best: null, pruned: 1, diverged: 1 });
  });

  it("colour by the logarithm of the gap where F* is known", () => {
    const map = heatMap({ ...smallGrid, loss: [101, 101, 11, 11, 2, null] }, "lr", null);
    const part = lossPart(map, 1);
    expect([2, 11, 101].map(part)).toEqual([0, 0.5, 1]);
  });
});

describe("importance", () => {
  it("ranks, equal ones alike", () => {
    expect(ranks([5, 1, 5, 0])).toEqual([2.5, 1, 2.5, 0]);
  });

  it("is 1 for an option that decides all, 0 for one that decides nothing", () => {
    expect(explained([0, 0, 1, 1], [0, 0, 1, 1])).toBe(1);
    expect(explained([0, 1, 0, 1], [0, 0, 1, 1])).toBe(0);
    expect(explained([1, 1], [0, 1])).toBeNull();
    expect(explained([1], [0])).toBeNull();
  });

  it("puts what mattered first and leaves diverged settings out", () => {
    const [first, second] = importances(smallGrid);
    expect(first?.option).toBe("lr");
    expect(first?.share).toBeCloseTo(1);
    expect(second?.share ?? 1).toBeLessThan(0.2);
  });
});

it("groups losses by value", () => {
  const groups = byValue(smallGrid, "lr");
  expect(groups.map((group) => group.losses)).toEqual([[3, 3], [2, 2], [1]]);
  expect(groups[2]).toMatchObject({ settings: 2, diverged: 1 });
});

it("finds the chosen value however it is written", () => {
  const row = (options: Record<string, string>) => ({ options }) as unknown as Row;
  expect(chosenPlace(smallGrid, "lr", row({ lr: "1" }))).toBe(1);
  expect(chosenPlace(smallGrid, "lr", row({ lr: "1e1" }))).toBe(2);
  expect(chosenPlace(smallGrid, "lr", row({}))).toBeNull();
  expect(chosenPlace(smallGrid, "lr", null)).toBeNull();
});
