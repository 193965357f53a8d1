// SPDX-License-Identifier: MIT
// Single runs in the dress of a task, so that the charts of a report can show them.
import type { Optimizer, RunDetail, Task } from "../model";

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#808080"];
const DASHES = [[], [8, 4], [2, 3], [9, 3, 2, 3], [16, 5]];

export function runLabel(run: RunDetail): string {
  return `${run.optimizer}, seed ${run.seed} (#${run.id})`;
}

/** The look of the n-th of the compared runs: a colour each, then the same colours with other dashes. */
export function runLook(at: number): { colour: string; dash: number[] } {
  return {
    colour: COLOURS[at % COLOURS.length] as string,
    dash: DASHES[Math.floor(at / COLOURS.length) % DASHES.length] as number[],
  };
}

export function taskOfRuns(runs: RunDetail[], labels: string[], title: string): Task {
  const optimizers: Optimizer[] = runs.map((run, at) => ({
    label: labels[at] ?? runLabel(run),
    method: run.method,
    baseline: false,
    ablation: false,
    ...runLook(at),
    setting: "",
    row: null,
    // A diverged run is shown as far as it went: it was asked for by name.
    runs: [{ seed: run.seed, diverged: false, points: run.points }],
    grid: { values: {}, settings: {}, loss: [], diverged: [], pruned: [] },
  }));
  return {
    name: title,
    title,
    data: "",
    model: "",
    lambda: 0,
    batch: 0,
    samples: 0,
    dimension: 0,
    optimum: null,
    optimizers,
  };
}
