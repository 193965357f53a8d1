// SPDX-License-Identifier: MIT
// What the program gives the page: src/report/web_model.cc writes it. Figures that cannot be had are
// null; text is text, never markup.

/** One number a point; null where it was not measured. */
export type Column = (number | null)[];

/** What was measured along a run: the first point is the start. Columns that have nothing are left out. */
export interface Points {
  epoch: number[];
  step: number[];
  gradient_evaluations: number[];
  seconds: number[];
  train_loss: Column;
  validation_loss?: Column;
  validation_accuracy?: Column;
  /** Norm of the residual over that of the gradient, in the epoch's last step; trainable ones only. */
  residual?: Column;
  /** How much of the residual the correction took in; stability wants 0 < delta < 2. */
  delta?: Column;
  /** |G - grad F|^2 and |g - grad F|^2: their ratio is the variance ratio. */
  estimator_error?: Column;
  batch_error?: Column;
  distance?: Column;
  /** The training loss without lambda's part, and |w|^2. */
  data_loss?: Column;
  squared_norm?: Column;
}

export interface Run {
  seed: number;
  diverged: boolean;
  points: Points;
}

/** Every setting that was tried on the tuning seed. */
export interface Grid {
  /** Options that were varied, with their values as they were written; numbers in rising order. */
  values: Record<string, string[]>;
  /** For each of those options, for each setting: the place of its value. */
  settings: Record<string, number[]>;
  /** Least training loss of each setting; null where it diverged. */
  loss: Column;
  /** Places of settings that diverged, and of those that successive halving took out. */
  diverged: number[];
  pruned: number[];
}

export interface BestOf {
  n: number;
  expected: number | null;
  low: number | null;
  median: number | null;
  high: number | null;
}

/** What a comparison says of one optimizer on one task: keys as in `tandem report --json`. */
export interface Row {
  options: Record<string, string>;
  edge: string[];
  rho: number | null;
  mark: "+" | "~" | "-" | null;
  s: number | null;
  p: number | null;
  interval: [number | null, number | null] | null;
  min_loss: Column;
  gap: Column;
  diverged: number;
  members: number;
  gradient_evaluations: number | null;
  seconds: number | null;
  state_bytes: number | null;
  seeds: number[];
  rho_seeds: Column;
  p_holm: number | null;
  measured: number;
  measured_diverged: number;
  rho_evaluations: number | null;
  rho_seconds: number | null;
  tuned_loss: number | null;
  rho_tuned: number | null;
  rho_budget: number | null;
  budget: number;
  best_of: BestOf[];
}

export interface Optimizer {
  label: string;
  method: string;
  baseline: boolean;
  ablation: boolean;
  /** "#rrggbb" of Okabe and Ito's palette, and lengths of strokes and gaps; empty: solid. */
  colour: string;
  dash: number[];
  /** The setting that tuning chose, in words; ! marks a value at an end of its grid. */
  setting: string;
  row: Row | null;
  /** The chosen setting on the other seeds. */
  runs: Run[];
  grid: Grid;
  /** The paper's rho and mark, where it prints one for this cell. */
  paper?: { rho: number | null; mark: string | null };
}

export interface Task {
  name: string;
  title: string;
  data: string;
  model: string;
  lambda: number;
  batch: number;
  samples: number;
  dimension: number;
  /** F*, where it is known. */
  optimum: number | null;
  optimizers: Optimizer[];
}

export interface Study {
  name: string;
  /** Who won where, in words; paragraphs are apart by an empty line. */
  summary: string;
  /** What the columns mean, and what a reader must know. */
  explanation: string;
  complete: boolean;
  pruned: boolean;
  epochs: number;
  tune_seed: number;
  seeds: number[];
  command: string;
  version: string;
  target: string;
  machine: string;
  /** Seconds since 1970. */
  created: number;
  /** The study file. */
  text: string;
  tasks: Task[];
}

/** A report: what `<script type="application/json" id="tandem-data">` holds. */
export interface Report {
  format: 1;
  title: string;
  note: string;
  /** The command that made the page, the program's version, and when (ISO 8601). */
  command: string;
  program: string;
  made: string;
  studies: Study[];
}

// ---- The dashboard ------------------------------------------------------------------------------

export interface Worker {
  owner: string;
  /** Empty where an older version of Tandem works, as `target`. */
  machine: string;
  target: string;
  began: number;
  updated: number;
  part: number;
  seconds_left: number | null;
  doing: string;
  /** The best member in training, so far. */
  curve: {
    task?: string;
    optimizer?: string;
    seed?: number;
    alive?: number;
    options?: Record<string, string>;
    epoch?: number[];
    train_loss?: Column;
  };
}

export interface StudyEntry {
  store: number;
  id: number;
  name: string;
  created: number;
  epochs: number;
  tasks: number;
  members: number;
  units: number;
  done: number;
  state: "running" | "complete" | "stopped";
  part: number;
  seconds_left: number | null;
  command: string;
  version: string;
  machine: string;
  workers: Worker[];
  /** Differs from what it was when there is more of the study to fetch. */
  revision: string;
}

/** GET /api/overview, and every event named `overview` of GET /api/events. */
export interface Overview {
  /** `error`: why a store cannot be read now. */
  stores: { id: number; name: string; error: string | null }[];
  studies: StudyEntry[];
}

/**
 * GET /api/runs/STORE/STUDY?words=&phase=&outcome=&order=&direction=&offset=&count=: a page of the runs, without their
 * points.
 */
export interface RunPage {
  tasks: string[];
  /** How many runs the study has, and how many of them were asked for. */
  total: number;
  found: number;
  runs: {
    id: number;
    /** Its place in `tasks`. */
    task: number;
    optimizer: string;
    phase: "tune" | "measure";
    seed: number;
    loss: number | null;
    diverged: boolean;
    pruned: boolean;
    options: Record<string, string>;
  }[];
}

/** GET /api/run/STORE/STUDY/RUN. */
export interface RunDetail {
  id: number;
  task: string;
  optimizer: string;
  method: string;
  phase: "tune" | "measure";
  seed: number;
  diverged: boolean;
  diverged_at: number;
  pruned: boolean;
  state_bytes: number;
  options: Record<string, string>;
  points: Points;
  /** Trains it again. */
  command: string;
}
// GET /api/studies/STORE/STUDY gives a Study. All errors are {"error": "..."}.
