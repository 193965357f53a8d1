// SPDX-License-Identifier: MIT
// Zero and below on a logarithmic axis.
import { expect, it } from "vitest";
import { raise, smallestPositive, spansDecade } from "../src/data/logarithm";
import { emptyCurve, type Curve } from "../src/data/series";

function curveOf(values: number[]): Curve {
  const curve = emptyCurve(values.length, 1);
  curve.x.forEach((_, at) => (curve.x[at] = at));
  curve.y.set(values);
  curve.low.set(values);
  curve.high.set(values);
  return curve;
}

it("raises zero and below to the smallest positive value, and counts", () => {
  const curve = curveOf([1, 0.01, 0, -2]);
  expect(smallestPositive([curve])).toBe(0.01);
  const { curve: raised, count } = raise(curve, 0.01);
  expect([...raised.y]).toEqual([1, 0.01, 0.01, 0.01]);
  expect([...raised.low]).toEqual([1, 0.01, 0.01, 0.01]);
  expect(count).toBe(2);
});

it("has no floor without a positive value", () => {
  expect(smallestPositive([curveOf([0, -1])])).toBeNull();
  expect(smallestPositive([])).toBeNull();
});

it("leaves gaps as they are", () => {
  expect(raise(curveOf([NaN, 1]), 1).curve.y[0]).toBeNaN();
});

it("knows when values span more than a power of ten", () => {
  expect(spansDecade([curveOf([11, 1])])).toBe(true);
  expect(spansDecade([curveOf([9, 1])])).toBe(false);
  expect(spansDecade([curveOf([11, 0])])).toBe(false);
});
