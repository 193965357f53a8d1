// SPDX-License-Identifier: MIT
// Min-max standardisation over a task.
import { expect, it } from "vitest";
import type { Reader } from "../src/data/series";
import { spanOf, standardised } from "../src/data/standardise";
import { optimizerOf, runOf } from "./fixtures";

const loss: Reader = (points, at) => points.train_loss[at];

it("spans all optimizers, without the start and without diverged runs", () => {
  const optimizers = [
    optimizerOf("a", [runOf(1, [100, 5, 3])]),
    optimizerOf("b", [runOf(1, [100, 7, null, 4]), runOf(2, [100, 900], {}, true)]),
  ];
  expect(spanOf(optimizers, loss)).toEqual({ min: 3, max: 7 });
});

it("maps the least to 0 and the greatest to 1", () => {
  const read = standardised(loss, { min: 3, max: 7 });
  const { points } = runOf(1, [7, 3, 5, null]);
  expect([0, 1, 2, 3].map((at) => read(points, at))).toEqual([1, 0, 0.5, null]);
});

it("does not divide by zero", () => {
  expect(standardised(loss, { min: 3, max: 3 })(runOf(1, [3]).points, 0)).toBe(0);
  expect(spanOf([], loss)).toBeNull();
});
