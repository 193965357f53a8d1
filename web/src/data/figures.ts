// SPDX-License-Identifier: MIT
// The line charts of a task, from its runs and what the reader chose.
import type { LineFigure, Level, Series } from "../chart/figure";
import type { Optimizer, Task } from "../model";
import type { XAxis, YScale } from "../state/settings";
import { count, number, plural, short } from "./format";
import { raise, smallestPositive, spansDecade } from "./logarithm";
import {
  deviationCurve,
  emptyCurve,
  farStart,
  finished,
  hasValues,
  meanCurve,
  measuredOnly,
  ratioCurve,
  withoutStart,
  type Curve,
  type Reader,
} from "./series";
import { spanOf, standardised } from "./standardise";

export interface Choice {
  /** Sets charts of one study apart from those of another with the same tasks. */
  scope: string;
  x: XAxis;
  y: YScale;
  standardise: boolean;
}

interface Axis {
  label: string;
  read: Reader;
  place: (x: number) => string;
}

export function axisOf(choice: XAxis, samples: number): Axis {
  switch (choice) {
    case "epoch":
      return { label: "epoch", read: (points, at) => points.epoch[at], place: (x) => `epoch ${short(x, 6)}` };
    case "step":
      return { label: "step", read: (points, at) => points.step[at], place: (x) => `step ${count(x)}` };
    case "seconds":
      return {
        label: "time of training (s)",
        read: (points, at) => points.seconds[at],
        place: (x) => `${number(x, 4)} s`,
      };
    case "evaluations":
      if (samples > 0) {
        return {
          label: "gradient evaluations (passes over the data)",
          read: (points, at) => (points.gradient_evaluations[at] ?? NaN) / samples,
          place: (x) => `${short(x, 5)} passes`,
        };
      }
      return {
        label: "gradient evaluations (samples)",
        read: (points, at) => points.gradient_evaluations[at],
        place: (x) => `${count(x)} evaluations`,
      };
  }
}

/** How one measure becomes a chart. */
interface Measure {
  key: string;
  title: string;
  yLabel: string;
  /** What "auto" means; `fixed` keeps it whatever the reader chose. */
  scale: "auto" | "log" | "linear";
  fixed?: boolean;
  levels?: Level[];
  note?: string;
  dropsFarStart?: boolean;
  /** It has no mean and no band to explain. */
  bandless?: boolean;
  curve: (optimizer: Optimizer, x: Reader) => Curve;
}

const column =
  (
    name: "train_loss" | "validation_loss" | "validation_accuracy" | "residual" | "delta" | "distance",
  ): Reader =>
  (points, at) =>
    points[name]?.[at];

const loss = column("train_loss");

function lossMeasure(task: Task, choice: Choice): Measure {
  const span = choice.standardise ? spanOf(task.optimizers, loss) : null;
  if (span) {
    const read = standardised(loss, span);
    return {
      key: "loss",
      title: "Standardised training loss",
      yLabel: "(F − min) / (max − min)",
      scale: "linear",
      note: "Smallest and largest F are of all optimizers of the task, without the start.",
      curve: (optimizer, x) => meanCurve(optimizer.runs, x, read, 1),
    };
  }
  return {
    key: "loss",
    title: "Training loss",
    yLabel: "training loss F",
    scale: "auto",
    dropsFarStart: true,
    curve: (optimizer, x) => meanCurve(optimizer.runs, x, loss),
  };
}

function gapMeasure(optimum: number): Measure {
  return {
    key: "gap",
    title: "Gap to the optimum",
    yLabel: "F − F*",
    scale: "log",
    note: `F* = ${number(optimum, 8)}.`,
    curve: (optimizer, x) =>
      meanCurve(optimizer.runs, x, (points, at) => {
        const value = points.train_loss[at];
        return value === null || value === undefined ? null : value - optimum;
      }),
  };
}

const deviation: Measure = {
  key: "deviation",
  title: "Standard deviation over seeds",
  yLabel: "standard deviation of F",
  scale: "log",
  bandless: true,
  note: "Sample standard deviation (n − 1) of the measured seeds at the same point.",
  curve: (optimizer, x) => deviationCurve(optimizer.runs, x, loss),
};

const validationLoss: Measure = {
  key: "validation-loss",
  title: "Validation loss",
  yLabel: "validation loss",
  scale: "auto",
  dropsFarStart: true,
  curve: (optimizer, x) => meanCurve(optimizer.runs, x, column("validation_loss")),
};

const validationAccuracy: Measure = {
  key: "validation-accuracy",
  title: "Validation accuracy",
  yLabel: "share that is right",
  scale: "linear",
  fixed: true,
  curve: (optimizer, x) => meanCurve(optimizer.runs, x, column("validation_accuracy")),
};

const distance: Measure = {
  key: "distance",
  title: "Distance to the optimum",
  yLabel: "|w − w*|²",
  scale: "log",
  curve: (optimizer, x) => meanCurve(optimizer.runs, x, column("distance")),
};

const ratio: Measure = {
  key: "variance-ratio",
  title: "Variance ratio",
  yLabel: "|G − ∇F|² / |g − ∇F|²",
  scale: "log",
  levels: [{ value: 1, label: "as good as the batch" }],
  note:
    "Error of the gradient estimate over that of the batch, mean over mean. Below 1 the estimate G is nearer to the " +
    "full gradient than the batch's own g.",
  curve: (optimizer, x) =>
    ratioCurve(
      optimizer.runs,
      x,
      (points, at) => points.estimator_error?.[at],
      (points, at) => points.batch_error?.[at],
      1,
    ),
};

const residual: Measure = {
  key: "residual",
  title: "Residual / gradient",
  yLabel: "|r| / |g|",
  scale: "auto",
  note: "Norm of the residual over that of the gradient, in the last step of the epoch.",
  curve: (optimizer, x) => meanCurve(optimizer.runs, x, column("residual")),
};

const delta: Measure = {
  key: "delta",
  title: "Correction delta",
  yLabel: "delta",
  scale: "linear",
  levels: [{ value: 2, label: "stability ends" }],
  note: "How much of the residual the correction took in. Stability wants 0 < delta < 2.",
  curve: (optimizer, x) => meanCurve(optimizer.runs, x, column("delta")),
};

export function lossFigures(task: Task, choice: Choice): LineFigure[] {
  const measures = [lossMeasure(task, choice)];
  if (task.optimum !== null) measures.push(gapMeasure(task.optimum));
  measures.push(validationLoss, validationAccuracy, deviation, distance);
  return built(task, choice, measures);
}

export function estimatorFigures(task: Task, choice: Choice): LineFigure[] {
  return built(task, choice, [ratio, residual, delta]);
}

/** Those of the measures that some optimizer has; training loss stands even without data. */
function built(task: Task, choice: Choice, measures: Measure[]): LineFigure[] {
  return measures
    .map((measure) => figureOf(task, choice, measure))
    .filter((figure, at) => figure.series.length > 0 || measures[at]?.key === "loss");
}

function figureOf(task: Task, choice: Choice, measure: Measure): LineFigure {
  const axis = axisOf(choice.x, task.samples);
  const notes = [measure.bandless ? "" : averaging(task), measure.note ?? ""];
  let series: Series[] = [];
  for (const optimizer of task.optimizers) {
    const curve = measure.curve(optimizer, axis.read);
    if (hasValues(curve)) series.push({ ...lookOf(optimizer), curve });
  }
  const start = measure.dropsFarStart ? farStart(series.map(({ curve }) => curve)) : null;
  if (start !== null) {
    series = series.map((one) => ({ ...one, curve: withoutStart(one.curve) }));
    notes.push(`The start, at ${number(start, 3)}, is left out.`);
  }
  series = series.map((one) => ({ ...one, curve: measuredOnly(one.curve) }));
  const curves = series.map(({ curve }) => curve);
  const wished = measure.fixed || choice.y === "auto" ? measure.scale : choice.y;
  const floor = smallestPositive(curves);
  const yLog = floor !== null && (wished === "log" || (wished === "auto" && spansDecade(curves)));
  if (yLog) series = raised(series, floor, notes);
  return {
    id: `${choice.scope}/${task.name}/${measure.key}/${choice.x}`,
    title: measure.title,
    subject: task.title,
    xLabel: axis.label,
    yLabel: measure.yLabel,
    xLog: false,
    xWhole: choice.x === "epoch" || choice.x === "step",
    yLog,
    series,
    levels: measure.levels ?? [],
    caption: [...notes, ...absences(task)].filter((note) => note !== "").join(" "),
    place: axis.place,
  };
}

function lookOf(optimizer: Optimizer): Omit<Series, "curve"> {
  return { label: optimizer.label, colour: optimizer.colour, dash: optimizer.dash };
}

function raised(series: Series[], floor: number, notes: string[]): Series[] {
  const who: string[] = [];
  const result = series.map((one) => {
    const { curve, count: raisedCount } = raise(one.curve, floor);
    if (raisedCount > 0) who.push(`${one.label} (${raisedCount})`);
    return { ...one, curve };
  });
  if (who.length > 0) {
    notes.push(
      `Zero and below is drawn at ${number(floor, 3)}, the smallest positive value: ${who.join(", ")}.`,
    );
  }
  return result;
}

function averaging(task: Task): string {
  const counts = task.optimizers.map(({ runs }) => finished(runs).length).filter((runs) => runs > 0);
  const most = Math.max(0, ...counts);
  const fewest = Math.min(...counts);
  if (most === 0) return "No runs to show.";
  if (most === 1) return "One seed.";
  const seeds = fewest === most ? String(most) : `${fewest} to ${most}`;
  return `Mean over ${seeds} seeds; the band goes from the smallest to the largest value.`;
}

/** Who is not in the chart, or not with all of its runs, and why. */
function absences(task: Task): string[] {
  const diverged: string[] = [];
  const missing: string[] = [];
  for (const { label, runs, ablation } of task.optimizers) {
    const lost = runs.filter((run) => run.diverged).length;
    if (lost > 0) diverged.push(`${label} (${lost} of ${plural(runs.length, "run")})`);
    if (runs.length === 0 && !ablation) missing.push(label);
  }
  return [
    diverged.length > 0 ? `Left out as diverged: ${diverged.join(", ")}.` : "",
    missing.length > 0 ? `No measured runs: ${missing.join(", ")}.` : "",
  ];
}

/** What the best of n settings is expected to give; null where no optimizer has it. */
export function bestOfFigure(task: Task, choice: Choice): LineFigure | null {
  const notes = [
    "What the best of n settings, drawn at random from an optimizer's grid, is expected to give: optimizers compare at " +
      "the same n, whatever the sizes of their grids. With one or two of them shown, a band goes from the 10 % to the " +
      "90 % point.",
  ];
  let series: Series[] = [];
  for (const optimizer of task.optimizers) {
    const best = optimizer.row?.best_of ?? [];
    const curve = emptyCurve(best.length, 2);
    best.forEach(({ n, expected, low, high }, at) => {
      curve.x[at] = n;
      curve.y[at] = (expected ?? NaN) - (task.optimum ?? 0);
      curve.low[at] = (low ?? NaN) - (task.optimum ?? 0);
      curve.high[at] = (high ?? NaN) - (task.optimum ?? 0);
    });
    const known = measuredOnly(curve);
    if (hasValues(known)) series.push({ ...lookOf(optimizer), curve: known });
  }
  if (series.length === 0) return null;
  const curves = series.map(({ curve }) => curve);
  const floor = smallestPositive(curves);
  const wished = choice.y === "auto" ? (task.optimum !== null ? "log" : "auto") : choice.y;
  const yLog = floor !== null && (wished === "log" || (wished === "auto" && spansDecade(curves)));
  if (yLog) series = raised(series, floor, notes);
  return {
    id: `${choice.scope}/${task.name}/best-of-n`,
    title: "Best of n settings",
    subject: task.title,
    xLabel: "settings tried (n)",
    yLabel: task.optimum !== null ? "expected gap of the best, F − F*" : "expected loss of the best",
    xLog: true,
    yLog,
    series,
    levels: [],
    caption: notes.join(" "),
    bandsUpTo: 2,
    place: (x) => `best of ${count(x)}`,
  };
}
