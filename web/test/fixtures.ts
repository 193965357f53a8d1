// SPDX-License-Identifier: MIT
// Small runs, grids and optimizers for the tests.
import type { Column, Grid, Optimizer, Run, Task } from "../src/model";

export function runOf(seed: number, loss: Column, more: Partial<Run["points"]> = {}, diverged = false): Run {
  const places = loss.map((_, at) => at);
  return {
    seed,
    diverged,
    points: {
      epoch: places,
      step: places.map((at) => at * 10),
      gradient_evaluations: places.map((at) => at * 640),
      seconds: places.map((at) => at * seed),
      train_loss: loss,
      ...more,
    },
  };
}

export const emptyGrid: Grid = { values: {}, settings: {}, loss: [], diverged: [], pruned: [] };

export function optimizerOf(label: string, runs: Run[], more: Partial<Optimizer> = {}): Optimizer {
  return {
    label,
    method: "adam",
    baseline: false,
    ablation: false,
    colour: "#000000",
    dash: [],
    setting: "",
    row: null,
    runs,
    grid: emptyGrid,
    ...more,
  };
}

export function taskOf(optimizers: Optimizer[], more: Partial<Task> = {}): Task {
  return {
    name: "task",
    title: "a task",
    data: "data",
    model: "model",
    lambda: 0,
    batch: 64,
    samples: 640,
    dimension: 3,
    optimum: null,
    optimizers,
    ...more,
  };
}

/** lr decides everything, beta nothing; the two settings with the greatest lr and beta diverged. */
export const smallGrid: Grid = {
  values: { lr: ["0.1", "1", "10"], beta: ["0.5", "1"], one: ["7"] },
  settings: { lr: [0, 0, 1, 1, 2, 2], beta: [0, 1, 0, 1, 0, 1], one: [0, 0, 0, 0, 0, 0] },
  loss: [3, 3, 2, 2, 1, null],
  diverged: [5],
  pruned: [],
};
