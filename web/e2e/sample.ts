// SPDX-License-Identifier: MIT
// Made-up results with the shapes of real ones: two studies, three tasks, diverged runs, hostile names.
import type { BestOf, Column, Grid, Optimizer, Points, Report, Row, Run, Study, Task } from "../src/model";

export const HOSTILE_IMAGE = "<img src=x onerror=alert(1)>";
export const HOSTILE_SCRIPT = `"><script>window.hacked=1</script>`;

/** Numbers that look random and are the same each time (mulberry32). */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

interface Plan {
  label: string;
  method: string;
  colour: string;
  dash: number[];
  trainable?: boolean;
  baseline?: boolean;
  ablation?: boolean;
  /** How fast it falls, and how far above the best it ends. */
  rate: number;
  end: number;
  stateFactor: number;
  secondsFactor: number;
  options: Record<string, string[]>;
}

const LR = ["0.001", "0.005", "0.01", "0.05", "0.1", "0.5"];
const DECAY = ["0.6", "0.7", "0.8", "0.9", "0.95", "1"];
const ALPHA = ["0", "0.001", "0.01", "0.1", "1"];
const BETA = ["0.01", "0.05", "0.1", "0.5", "1"];

const PLANS: Plan[] = [
  {
    label: "adam",
    method: "adam",
    colour: "#000000",
    dash: [],
    baseline: true,
    rate: 0.5,
    end: 0.0042,
    stateFactor: 8,
    secondsFactor: 1,
    options: { lr: LR, decay: DECAY },
  },
  {
    label: "momentum",
    method: "momentum",
    colour: "#E69F00",
    dash: [8, 4],
    rate: 0.42,
    end: 0.0069,
    stateFactor: 4,
    secondsFactor: 0.8,
    options: { lr: LR, decay: DECAY },
  },
  {
    label: "full-to",
    method: "full-to",
    colour: "#CC79A7",
    dash: [],
    trainable: true,
    rate: 0.4,
    end: 0.0081,
    stateFactor: 4000,
    secondsFactor: 6.5,
    options: { alpha: ["0.001", "0.01"], beta: ["0.1", "1"], lr: ["0.1", "0.5"], decay: ["0.8", "1"] },
  },
  {
    label: "diag-to",
    method: "diag-to",
    colour: "#0072B2",
    dash: [],
    trainable: true,
    rate: 0.62,
    end: 0.0021,
    stateFactor: 8,
    secondsFactor: 1.1,
    options: { alpha: ALPHA, beta: BETA, lr: LR, decay: DECAY },
  },
  {
    label: "ro-to",
    method: "ro-to",
    colour: "#D55E00",
    dash: [16, 5],
    trainable: true,
    rate: 0.55,
    end: 0.0034,
    stateFactor: 12,
    secondsFactor: 1.4,
    options: { alpha: ALPHA, beta: BETA, lr: LR, decay: DECAY },
  },
  {
    label: "adam-to",
    method: "adam-to",
    colour: "#56B4E9",
    dash: [9, 3, 2, 3, 2, 3],
    trainable: true,
    rate: 0.58,
    end: 0.0039,
    stateFactor: 12,
    secondsFactor: 1.5,
    options: { alpha: ALPHA, beta: BETA, lr: LR, decay: DECAY },
  },
  {
    label: "saga",
    method: "saga",
    colour: "#009E73",
    dash: [9, 3, 2, 3],
    rate: 0.47,
    end: 0.0048,
    stateFactor: 900,
    secondsFactor: 1.9,
    options: { lr: LR, decay: ["0.8", "0.9", "1"] },
  },
  {
    label: HOSTILE_IMAGE,
    method: "sgd",
    colour: "#808080",
    dash: [2, 3],
    rate: 0.3,
    end: 0.0125,
    stateFactor: 0,
    secondsFactor: 0.7,
    options: { lr: LR, decay: DECAY },
  },
  {
    label: "diag-to alpha=0",
    method: "diag-to",
    colour: "#0072B2",
    dash: [2, 3],
    trainable: true,
    ablation: true,
    rate: 0.45,
    end: 0.0056,
    stateFactor: 8,
    secondsFactor: 1.1,
    options: { beta: BETA, lr: LR, decay: DECAY },
  },
];

interface Place {
  name: string;
  title: string;
  data: string;
  model: string;
  lambda: number;
  samples: number;
  dimension: number;
  floor: number;
  start: number;
  convex: boolean;
  validation: boolean;
}

const PLACES: Place[] = [
  {
    name: "nsl-kdd logistic lambda=0.001 batch=64",
    title: "nsl-kdd, logistic, λ = 0.001",
    data: "nsl-kdd",
    model: "logistic",
    lambda: 0.001,
    samples: 22544,
    dimension: 122,
    floor: 0.2113,
    start: 6.21,
    convex: true,
    validation: false,
  },
  {
    name: "covtype logistic lambda=0 batch=64",
    title: "covtype, logistic, λ = 0",
    data: "covtype",
    model: "logistic",
    lambda: 0,
    samples: 581012,
    dimension: 385,
    floor: 0.6318,
    start: 1.02,
    convex: true,
    validation: false,
  },
  {
    name: "fashion-mnist ffn:128 lambda=0 batch=128",
    title: "fashion-mnist, ffn:128, λ = 0",
    data: "fashion-mnist",
    model: "ffn:128",
    lambda: 0,
    samples: 60000,
    dimension: 101770,
    floor: 0.182,
    start: 2.31,
    convex: false,
    validation: true,
  },
];

function range(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at);
}

function runOf(place: Place, plan: Plan, seed: number, epochs: number, diverged: boolean, perEpoch = 1): Run {
  const random = dice(seed * 7919 + plan.label.length * 104729 + place.dimension);
  const drift = 1 + (random() - 0.5) * 0.5;
  const count = epochs * perEpoch + 1;
  const steps = Math.ceil(place.samples / 64 / perEpoch);
  const time = (plan.secondsFactor * (place.samples / 60000) * (0.9 + random() * 0.2)) / perEpoch;
  const points: Points = { epoch: [], step: [], gradient_evaluations: [], seconds: [], train_loss: [] };
  const extra: Record<string, Column> = {};
  const put = (name: string, value: number | null) => (extra[name] ??= []).push(value);
  for (const at of range(count)) {
    const epoch = at / perEpoch;
    const noise = 1 + (random() - 0.5) * 0.12;
    const fall = Math.exp(-plan.rate * epoch * 1.4) * (place.start - place.floor) * 0.16;
    const slow = plan.end * drift * (1 + 5 / (1 + epoch)) * noise;
    let loss = at === 0 ? place.start : place.floor + fall + slow;
    if (diverged && epoch > 6) loss *= 3 ** (epoch - 6);
    points.epoch.push(epoch);
    points.step.push(at * steps);
    points.gradient_evaluations.push(at * steps * 64 * (plan.label === "saga" ? 1.05 : 1));
    points.seconds.push(Number((at * time).toFixed(4)));
    const gone = diverged && epoch > 12;
    points.train_loss.push(gone ? null : Number(loss.toPrecision(9)));
    if (place.validation) {
      put("validation_loss", gone ? null : loss * 1.12 + 0.004 * epoch * plan.rate);
      put("validation_accuracy", gone ? null : 0.9 - 0.8 * Math.exp(-plan.rate * epoch) * 0.4 - plan.end);
    }
    if (plan.trainable) {
      put("residual", at === 0 ? null : 0.35 + 0.5 * Math.exp(-epoch / 4) * noise);
      put("delta", at === 0 ? null : 0.4 + (plan.rate + 0.6) * Math.exp(-epoch / 9) * noise);
      const measured = at > 0 && (epoch < 3 || epoch % 2 === 0);
      const batch = 0.02 * Math.exp(-epoch / 15);
      put("batch_error", measured ? batch : null);
      put("estimator_error", measured ? batch * (0.12 + 2.2 * Math.exp(-epoch / 3)) * noise : null);
    }
  }
  return { seed, diverged, points: Object.assign(points, extra) };
}

function gridOf(place: Place, plan: Plan): Grid {
  const random = dice(plan.label.length * 31 + place.samples);
  const names = Object.keys(plan.options);
  const counts = names.map((name) => plan.options[name]?.length ?? 1);
  const total = counts.reduce((product, count) => product * count, 1);
  const grid: Grid = { values: plan.options, settings: {}, loss: [], diverged: [], pruned: [] };
  for (const name of names) grid.settings[name] = [];
  for (const setting of range(total)) {
    let rest = setting;
    const at: Record<string, number> = {};
    names.forEach((name, which) => {
      at[name] = rest % (counts[which] ?? 1);
      rest = Math.floor(rest / (counts[which] ?? 1));
      grid.settings[name]?.push(at[name] ?? 0);
    });
    const lr = Number(plan.options["lr"]?.[at["lr"] ?? 0]);
    const alpha = Number(plan.options["alpha"]?.[at["alpha"] ?? 0] ?? 0);
    const beta = Number(plan.options["beta"]?.[at["beta"] ?? 0] ?? 0.05);
    const decay = Number(plan.options["decay"]?.[at["decay"] ?? 0]);
    const wild = lr * 2 + alpha * 3 + beta * 0.4 > 2.6;
    if (wild && random() < 0.93) {
      grid.diverged.push(setting);
      grid.loss.push(null);
      continue;
    }
    const off =
      Math.abs(Math.log10(lr / 0.1)) * 0.5 +
      Math.abs(decay - 0.95) * 0.5 +
      Math.abs(Math.log10(beta / 0.05)) * 0.08 +
      alpha * 0.2;
    grid.loss.push(Number((place.floor + plan.end + off * off * 0.4 + random() * 0.004).toPrecision(9)));
  }
  return grid;
}

function leastOf(run: Run): number | null {
  if (run.diverged) return null;
  return Math.min(...run.points.train_loss.slice(1).map((value) => value ?? Infinity));
}

function bestOf(grid: Grid, start: number): BestOf[] {
  const scores = grid.loss.map((loss) => Math.min(loss ?? start, start)).sort((a, b) => a - b);
  const total = scores.length;
  const result: BestOf[] = [];
  for (let n = 1; ; n = Math.min(total, Math.ceil(n * 1.6))) {
    let left = 1;
    let expected = 0;
    let sum = 0;
    let low: number | null = null;
    let median: number | null = null;
    let high: number | null = null;
    for (let k = 0; k + n <= total; k += 1) {
      const chance = (left * n) / (total - k);
      expected += chance * (scores[k] ?? 0);
      sum += chance;
      if (low === null && sum >= 0.1) low = scores[k] ?? null;
      if (median === null && sum >= 0.5) median = scores[k] ?? null;
      if (high === null && sum >= 0.9) high = scores[k] ?? null;
      left *= 1 - n / (total - k);
    }
    const last = scores[total - n] ?? null;
    result.push({ n, expected, low, median: median ?? last, high: high ?? last });
    if (n === total) return result;
  }
}

function chosenOf(grid: Grid): Record<string, string> {
  let best = -1;
  grid.loss.forEach((loss, at) => {
    if (loss !== null && (best < 0 || loss < (grid.loss[best] ?? Infinity))) best = at;
  });
  const chosen: Record<string, string> = {};
  for (const [name, values] of Object.entries(grid.values)) {
    chosen[name] = values[grid.settings[name]?.[best] ?? 0] ?? "";
  }
  return chosen;
}

const SEEDS = [1, 2, 3, 4, 5];

function rowOf(place: Place, plan: Plan, runs: Run[], grid: Grid, base: Run[]): Row {
  const least = runs.map(leastOf);
  const bases = base.map(leastOf);
  const rhos = least.map((loss, at) => (loss === null ? null : ((bases[at] ?? 1) - loss) / (bases[at] ?? 1)));
  const lost = runs.filter((run) => run.diverged).length;
  const known = rhos.filter((rho): rho is number => rho !== null);
  const mean = known.reduce((sum, rho) => sum + rho, 0) / known.length;
  const deviation = Math.sqrt(known.reduce((sum, rho) => sum + (rho - mean) ** 2, 0) / (known.length - 1));
  const error = deviation / Math.sqrt(known.length);
  const judged = !plan.baseline && lost === 0;
  const score = mean / error;
  const chosen = chosenOf(grid);
  return {
    options: chosen,
    edge: Object.keys(chosen).filter((name) => [grid.values[name]?.[0]].includes(chosen[name])),
    rho: judged ? mean : null,
    mark: plan.baseline ? null : lost > 0 ? "-" : score > 1.64 ? "+" : score < -1.64 ? "-" : "~",
    s: judged ? 0.5 : null,
    p: judged ? Math.min(1, Math.exp(-Math.abs(score))) : null,
    interval: judged ? [mean - 2.78 * error, mean + 2.78 * error] : null,
    min_loss: least,
    gap: least.map((loss) => (loss === null || !place.convex ? null : loss - place.floor)),
    diverged: grid.diverged.length,
    members: grid.loss.length,
    gradient_evaluations: runs[0]?.points.gradient_evaluations.at(-1) ?? null,
    seconds: runs[0]?.points.seconds.at(-1) ?? null,
    state_bytes: plan.stateFactor * place.dimension,
    seeds: SEEDS,
    rho_seeds: plan.baseline ? [] : rhos,
    p_holm: judged ? Math.min(1, 7 * Math.exp(-Math.abs(score))) : null,
    measured: runs.length,
    measured_diverged: lost,
    rho_evaluations: judged ? mean * 0.96 : null,
    rho_seconds: judged ? mean - (plan.secondsFactor - 1) * 0.01 : null,
    tuned_loss: place.floor + plan.end,
    rho_tuned: judged ? mean * 1.05 : null,
    rho_budget: judged ? mean - 0.004 : null,
    budget: Math.min(36, grid.loss.length),
    best_of: bestOf(grid, place.start),
  };
}

function taskOf(place: Place, epochs: number): Task {
  const runsOf = (plan: Plan) =>
    SEEDS.map((seed) =>
      runOf(place, plan, seed, epochs, plan.label === "ro-to" && place.data === "covtype" && seed === 3),
    );
  const base = runsOf(PLANS[0] as Plan);
  const optimizers = PLANS.map((plan): Optimizer => {
    const runs = runsOf(plan);
    const grid = gridOf(place, plan);
    const row = rowOf(place, plan, runs, grid, base);
    const setting = Object.entries(row.options).map(
      ([name, value]) => `${name} ${value}${row.edge.includes(name) ? "!" : ""}`,
    );
    return {
      label: plan.label,
      method: plan.method,
      baseline: plan.baseline ?? false,
      ablation: plan.ablation ?? false,
      colour: plan.colour,
      dash: plan.dash,
      setting: setting.join(", "),
      row,
      runs,
      grid,
      ...(plan.trainable && place.convex && !plan.ablation
        ? { paper: { rho: (row.rho ?? 0) * 0.7 + 0.002, mark: "+" } }
        : {}),
    };
  });
  return {
    name: place.name,
    title: place.title,
    data: place.data,
    model: place.model,
    lambda: place.lambda,
    batch: 64,
    samples: place.samples,
    dimension: place.dimension,
    optimum: place.convex ? place.floor : null,
    optimizers,
  };
}

export function sampleStudy(name: string, places: number[], epochs = 20): Study {
  return {
    name,
    summary:
      "diag-to has the least loss on 2 of 3 tasks; after Holm's correction it is better than adam on nsl-kdd and on fashion-mnist.\n\n" +
      "On covtype no optimizer is clearly better than adam, and ro-to diverged on one of five seeds.",
    explanation:
      "rho is (least loss of the baseline − least loss) / least loss of the baseline, the mean over seeds.\n\n" +
      "Marks follow the paper's test; conclusions should rest on p after Holm and on the interval.",
    complete: name !== HOSTILE_SCRIPT,
    pruned: false,
    epochs,
    tune_seed: 0,
    seeds: SEEDS,
    command: "tandem study studies/convex.toml --store runs.db",
    version: "0.2.0",
    target: "x86-64-v3",
    machine: "AMD EPYC, 2 processors, 23.5 GiB",
    created: 1763304000,
    text: `name = "convex"\nepochs = ${epochs}\nseeds = [1, 2, 3, 4, 5]\n\n[[task]]\ndata = "nsl-kdd"\nmodel = "logistic"\n`,
    tasks: places.map((place) => taskOf(PLACES[place] as Place, epochs)),
  };
}

function reportOf(title: string, studies: Study[]): Report {
  return {
    format: 1,
    title,
    note: "Eight optimizers on three tasks, tuned on one seed and measured on five others.",
    command: "tandem report --store runs.db --html report.html",
    program: "tandem 0.2.0",
    made: "2025-11-16T14:40:00Z",
    studies,
  };
}

export function sampleReport(): Report {
  return reportOf("Trainable optimizers against their rivals", [
    sampleStudy("convex and deep", [0, 1, 2]),
    sampleStudy(HOSTILE_SCRIPT, [0]),
  ]);
}

/** One task whose curves have twenty thousand points. */
export function longReport(): Report {
  const study = sampleStudy("long", [0], 1);
  const task = study.tasks[0] as Task;
  task.optimizers = task.optimizers.slice(0, 4).map((optimizer, at) => ({
    ...optimizer,
    runs: [runOf(PLACES[0] as Place, PLANS[at] as Plan, 1, 20, false, 1000)],
  }));
  return reportOf("Twenty thousand points", [study]);
}

/** What a study that has barely begun gives: nulls, empty lists, a single point. */
export function bareReport(): Report {
  const study = sampleStudy("bare", [1], 1);
  const task = study.tasks[0] as Task;
  const none: Grid = { values: {}, settings: {}, loss: [], diverged: [], pruned: [] };
  const start: Points = {
    epoch: [0],
    step: [0],
    gradient_evaluations: [0],
    seconds: [0],
    train_loss: [1],
  };
  const nothing: Points = {
    epoch: [],
    step: [],
    gradient_evaluations: [],
    seconds: [],
    train_loss: [],
  };
  const cases: Partial<Optimizer>[] = [
    { row: null, runs: [], grid: none },
    { row: null, runs: [{ seed: 1, diverged: false, points: start }] },
    { runs: [{ seed: 1, diverged: false, points: nothing }], grid: none },
    {
      grid: {
        values: { lr: ["1", "2"] },
        settings: { lr: [0, 1] },
        loss: [null, null],
        diverged: [0, 1],
        pruned: [],
      },
    },
    {
      grid: { values: { lr: ["1", "2"] }, settings: { lr: [0, 1] }, loss: [1, 1], diverged: [], pruned: [1] },
    },
  ];
  task.samples = 0;
  task.optimizers = cases.map((part, at) => ({
    ...(task.optimizers[at] as Optimizer),
    baseline: false,
    ...part,
  }));
  const empty: Task = { ...task, name: "empty", title: "a task without optimizers", optimizers: [] };
  return reportOf("Barely begun", [
    { ...study, complete: false, pruned: true, summary: "", explanation: "", tasks: [task, empty] },
    { ...study, name: "nothing", tasks: [] },
  ]);
}
