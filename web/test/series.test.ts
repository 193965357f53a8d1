// SPDX-License-Identifier: MIT
// Means, bands, ratios and deviations over seeds.
import { describe, expect, it } from "vitest";
import {
  deviationCurve,
  farStart,
  meanCurve,
  measuredOnly,
  ratioCurve,
  withoutStart,
  type Reader,
} from "../src/data/series";
import { runOf } from "./fixtures";

const epoch: Reader = (points, at) => points.epoch[at];
const seconds: Reader = (points, at) => points.seconds[at];
const loss: Reader = (points, at) => points.train_loss[at];

describe("meanCurve", () => {
  it("is the mean, with a band from the smallest to the largest", () => {
    const curve = meanCurve([runOf(1, [4, 2]), runOf(2, [6, 4])], epoch, loss);
    expect([...curve.y]).toEqual([5, 3]);
    expect([...curve.low]).toEqual([4, 2]);
    expect([...curve.high]).toEqual([6, 4]);
    expect(curve.runs).toBe(2);
  });

  it("leaves diverged runs out", () => {
    const curve = meanCurve([runOf(1, [4, 2]), runOf(2, [400, 900], {}, true)], epoch, loss);
    expect([...curve.y]).toEqual([4, 2]);
    expect(curve.runs).toBe(1);
  });

  it("takes at each place the runs that have it", () => {
    const curve = meanCurve([runOf(1, [4, 2, 1]), runOf(2, [6, null])], epoch, loss);
    expect([...curve.y]).toEqual([5, 2, 1]);
  });

  it("has the mean of seconds as x", () => {
    const curve = meanCurve([runOf(1, [4, 2]), runOf(3, [6, 4])], seconds, loss);
    expect([...curve.x]).toEqual([0, 2]);
  });

  it("is empty without runs", () => {
    expect(meanCurve([], epoch, loss).y).toHaveLength(0);
    expect(meanCurve([runOf(1, [1], {}, true)], epoch, loss).y).toHaveLength(0);
  });
});

it("skips what was not measured", () => {
  const curve = measuredOnly(meanCurve([runOf(1, [4, null, 2])], epoch, loss));
  expect([...curve.x]).toEqual([0, 2]);
  expect([...curve.y]).toEqual([4, 2]);
});

it("keeps x in order where a slow run ends early", () => {
  const slow = runOf(9, [4, 3], { epoch: [0, 1], seconds: [0, 100] });
  const quick = runOf(1, [4, 3, 2], { seconds: [0, 2, 4] });
  const curve = measuredOnly(meanCurve([slow, quick], seconds, loss));
  expect([...curve.x]).toEqual([0, 4, 51]);
  expect([...curve.y]).toEqual([4, 2, 3]);
});

it("takes the ratio of means, not the mean of ratios", () => {
  const runs = [
    runOf(1, [1, 1], { estimator_error: [null, 1], batch_error: [null, 4] }),
    runOf(2, [1, 1], { estimator_error: [null, 3], batch_error: [null, 4] }),
  ];
  const curve = ratioCurve(
    runs,
    epoch,
    (points, at) => points.estimator_error?.[at],
    (points, at) => points.batch_error?.[at],
    1,
  );
  expect([...curve.y]).toEqual([0.5]);
  expect([...curve.low]).toEqual([0.25]);
  expect([...curve.high]).toEqual([0.75]);
});

it("has the sample deviation, but not of a common start", () => {
  const curve = deviationCurve([runOf(1, [5, 1]), runOf(2, [5, 3])], epoch, loss);
  expect(curve.y[0]).toBeNaN();
  expect(curve.y[1]).toBeCloseTo(Math.SQRT2);
  expect(deviationCurve([runOf(1, [5, 1])], epoch, loss).y[1]).toBeNaN();
});

it("knows a start far above the rest", () => {
  const curve = (values: number[]) => meanCurve([runOf(1, values)], epoch, loss);
  expect(farStart([curve([9, 4, 1])])).toBe(9);
  expect(farStart([curve([9, 4, 1]), curve([9, 5, 1])])).toBeNull();
  expect([...withoutStart(curve([9, 4, 1])).y]).toEqual([4, 1]);
});
