// SPDX-License-Identifier: MIT
// Scales, zoom and what the crosshair reads.
import { describe, expect, it } from "vitest";
import { readings, snap, spoken, step } from "../src/chart/reading";
import { frameOf } from "../src/chart/plot";
import { bandPath, linePath } from "../src/chart/path";
import { ramp, warning } from "../src/chart/ramp";
import { padded, scale } from "../src/chart/scale";
import { textWidth } from "../src/chart/text";
import { ticks } from "../src/chart/ticks";
import { clamped, viewOf, WHOLE, zoomed } from "../src/chart/view";
import { bestOfFigure, estimatorFigures, lossFigures } from "../src/data/figures";
import type { Row } from "../src/model";
import { optimizerOf, runOf, taskOf } from "./fixtures";

const choice = { scope: "s", x: "epoch" as const, y: "auto" as const, standardise: false };

describe("scales", () => {
  it("map and invert", () => {
    const log = scale([0.01, 100], [0, 400], true);
    expect(log(1)).toBeCloseTo(200);
    expect(log.invert(100)).toBeCloseTo(0.1);
  });

  it("have round ticks, with digits enough to tell them apart", () => {
    const labels = ticks(scale([0.6311, 0.6329], [0, 300], false), 5).map((tick) => tick.label);
    expect(new Set(labels).size).toBe(labels.length);
    const decades = ticks(scale([1e-6, 1], [0, 300], true), 8).map((tick) => tick.label);
    expect(decades).toContain("10⁻⁶");
    expect(decades).toContain("1");
  });

  it("name every power of ten, or 1, 2 and 5 of two of them, or rounder steps of less", () => {
    const named = (low: number, high: number) =>
      ticks(scale([low, high], [0, 300], true), 5).flatMap(({ label }) => label || []);
    expect(named(0.05, 2)).toEqual(["0.05", "0.1", "0.2", "0.5", "1", "2"]);
    expect(named(0.02, 30)).toEqual(["0.1", "1", "10"]);
    expect(named(0.2, 0.4)).toEqual(["0.2", "0.25", "0.3", "0.35", "0.4"]);
    expect(named(1e-12, 1)).toEqual(["10⁻¹²", "10⁻¹⁰", "10⁻⁸", "10⁻⁶", "0.0001", "0.01", "1"]);
  });

  it("leave a little room, a lone value too", () => {
    expect(padded(1, 101, false)).toEqual([-3, 105]);
    expect(padded(1, 100, true)[1]).toBeCloseTo(10 ** 2.08);
    expect(padded(10, 10, true)[1]).toBeCloseTo(10 ** 1.5);
    expect(padded(0, 0, false)).toEqual([-1, 1]);
  });
});

describe("the frame of a chart", () => {
  const linear = { xLog: false, yLog: false };

  it.each([220, 300, 380, 640, 1300])("cuts off no label, %i pixels wide", (width) => {
    for (const end of [3, 20, 20_000, 123_456_789, 0.000123]) {
      for (const y of [
        [0, 1],
        [0.632051, 0.632053],
        [-2e7, 5e9],
      ] as [number, number][]) {
        const frame = frameOf({ width, height: 170 }, { x: [0, end], y }, linear);
        for (const { value, label } of frame.xTicks) {
          expect(frame.x(value) + textWidth(label, 12) / 2).toBeLessThanOrEqual(width + 0.01);
        }
        for (const { label } of frame.yTicks) {
          expect(frame.left - textWidth(label, 12)).toBeGreaterThanOrEqual(22);
        }
        expect(frame.right).toBeGreaterThan(frame.left + 40);
      }
    }
  });
});

describe("an axis of whole numbers", () => {
  it("names no others", () => {
    const values = (xWhole: boolean) =>
      frameOf(
        { width: 900, height: 170 },
        { x: [1, 5], y: [0, 1] },
        { xLog: false, yLog: false, xWhole },
      ).xTicks.map(({ value }) => value);
    expect(values(true)).toEqual([1, 2, 3, 4, 5]);
    expect(values(false)).toContain(1.5);
  });
});

describe("paths", () => {
  const x = scale([0, 2], [0, 200], false);
  const y = scale([0, 10], [100, 0], false);
  const curve = (values: number[]) => ({
    x: Float64Array.from(values, (_, at) => at),
    y: Float64Array.from(values),
    low: Float64Array.from(values, (value) => value - 1),
    high: Float64Array.from(values, (value) => value + 1),
    runs: 2,
  });

  it("are lines, and dots of lone points", () => {
    expect(linePath(curve([1, 2.345, 3]) as never, x, y)).toBe("M0,90L100,76.6L200,70");
    expect(linePath(curve([1]) as never, x, y)).toBe("M0,90Z");
    expect(linePath(curve([]) as never, x, y)).toBe("");
  });

  it("leave out what a logarithm has not", () => {
    expect(linePath(curve([1, 2, 3]) as never, scale([1, 2], [0, 100], true), y)).toBe("M0,80L100,70");
  });

  it("are bands between low and high", () => {
    expect(bandPath(curve([1, 2, 3]) as never, x, y)).toBe("M0,80L100,70L200,60L200,80L100,90L0,100Z");
    expect(bandPath({ ...curve([1, 2, 3]), runs: 1 } as never, x, y)).toBe("");
    expect(bandPath(curve([1]) as never, x, y)).toBe("");
  });
});

it("shades from dark to light, with ink that can be read", () => {
  expect(ramp(0)).toEqual({ fill: "#440154", ink: "#ffffff" });
  expect(ramp(1)).toEqual({ fill: "#fde725", ink: "#000000" });
  expect(warning(0)).toEqual({ fill: "rgb(255, 250, 245)", ink: "#000000" });
  expect(warning(1)).toEqual({ fill: "rgb(185, 70, 0)", ink: "#ffffff" });
});

describe("a figure of losses", () => {
  const task = taskOf(
    [
      optimizerOf("a", [runOf(1, [90, 4, 2]), runOf(2, [90, 6, 4])]),
      optimizerOf("b", [runOf(1, [90, 8, null, 3]), runOf(2, [90, 1e9], {}, true)]),
    ],
    { optimum: 2 },
  );

  it("leaves out a far start and says so", () => {
    const [loss] = lossFigures(task, choice);
    expect([...(loss?.series[0]?.curve.x ?? [])]).toEqual([1, 2]);
    expect(loss?.caption).toContain("The start, at 90.0, is left out.");
    expect(loss?.caption).toContain("Left out as diverged: b (1 of 2 runs).");
    expect([...(loss?.series[1]?.curve.x ?? [])]).toEqual([1, 3]);
  });

  it("raises zero gaps and says so", () => {
    const exact = taskOf([optimizerOf("a", [runOf(1, [5, 3, 2])])], { optimum: 2 });
    const gap = lossFigures(exact, choice).find((figure) => figure.title === "Gap to the optimum");
    expect(gap?.yLog).toBe(true);
    expect([...(gap?.series[0]?.curve.y ?? [])]).toEqual([3, 1, 1]);
    expect(gap?.caption).toContain("smallest positive value: a (1).");
  });

  it("counts gradient evaluations in passes over the data", () => {
    const [loss] = lossFigures(task, { ...choice, x: "evaluations" });
    expect([...(loss?.series[0]?.curve.x ?? [])]).toEqual([1, 2]);
    expect(loss?.xLabel).toContain("passes");
  });

  it("can be standardised", () => {
    const [loss] = lossFigures(task, { ...choice, standardise: true });
    expect(loss?.title).toBe("Standardised training loss");
    expect(loss?.series[1]?.curve.y[0]).toBe(1);
  });

  it("stands without data", () => {
    expect(lossFigures(taskOf([]), choice)).toHaveLength(1);
    expect(estimatorFigures(taskOf([]), choice)).toEqual([]);
    expect(bestOfFigure(taskOf([]), choice)).toBeNull();
  });

  it("reads values sorted, and walks from point to point", () => {
    const [figure] = lossFigures(task, choice);
    const shown = figure?.series ?? [];
    expect(readings(shown, 1).map(({ series, y }) => [series.label, y])).toEqual([
      ["a", 5],
      ["b", 8],
    ]);
    expect(snap(shown, 2.2)).toBe(2);
    expect(step(shown, 1, 1, [0, 9])).toBe(2);
    expect(step(shown, 2, 1, [0, 9])).toBe(3);
    expect(step(shown, 3, 1, [0, 9])).toBe(3);
    expect(step(shown, 2, -1, [0, 9])).toBe(1);
    expect(figure && spoken(figure, shown, 1)).toBe("epoch 1: a 5.000, b 8.000.");
  });

  it("fits y to the stretch of x that is seen", () => {
    const [figure] = lossFigures(task, { ...choice, y: "linear" });
    if (!figure) throw new Error("no figure");
    const all = viewOf(figure, figure.series, WHOLE, false);
    const end = viewOf(figure, figure.series, { x: [1.9, 3], y: null }, false);
    expect(all?.y[1]).toBeGreaterThan(8);
    expect(end?.y[1]).toBeLessThan(4);
  });
});

it("draws what the best of n settings gives", () => {
  const best_of = [
    { n: 1, expected: 5, low: 3, high: 9 },
    { n: 4, expected: 3, low: 3, high: 4 },
  ];
  const row = { best_of } as unknown as Row;
  const figure = bestOfFigure(taskOf([optimizerOf("a", [], { row })], { optimum: 1 }), choice);
  expect(figure?.xLog).toBe(true);
  expect([...(figure?.series[0]?.curve.y ?? [])]).toEqual([4, 2]);
});

it("zooms about a point and stays inside", () => {
  expect(zoomed([0, 10], 5, 0.5, false)).toEqual([2.5, 7.5]);
  expect(zoomed([1, 100], 10, 0.5, true)[0]).toBeCloseTo(Math.sqrt(10));
  expect(clamped([-5, 5], [0, 10])).toEqual([0, 5]);
  expect(clamped([-5, 15], [0, 10])).toBeNull();
});
