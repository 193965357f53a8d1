// SPDX-License-Identifier: MIT
// All that is known of one task: tables, curves, estimator, settings.
import { useMemo } from "preact/hooks";
import { ChartCard } from "../chart/chart_card";
import { Lazy } from "../chart/lazy";
import { bestOfFigure, estimatorFigures, lossFigures } from "../data/figures";
import { count, number, short } from "../data/format";
import type { Task } from "../model";
import { printing, standardise, xAxis, yScale } from "../state/settings";
import { CostTable } from "./cost_table";
import { taskId } from "./jump";
import { ResultsTable } from "./results_table";
import { SettingsView, tunable } from "./settings_view";

function facts(task: Task): string {
  const parts = [
    `data ${task.data}`,
    `model ${task.model}`,
    `λ = ${short(task.lambda)}`,
    `batch ${count(task.batch)}`,
  ];
  if (task.samples > 0) parts.push(`${count(task.samples)} samples`);
  if (task.dimension > 0) parts.push(`${count(task.dimension)} weights`);
  if (task.optimum !== null) parts.push(`F* = ${number(task.optimum, 8)}`);
  return parts.join(" · ");
}

export function TaskSection({ task, scope, place }: { task: Task; scope: string; place: number }) {
  const id = taskId(scope, place);
  const x = xAxis.value;
  const y = yScale.value;
  const standard = standardise.value;
  const choice = useMemo(() => ({ scope, x, y, standardise: standard }), [scope, x, y, standard]);
  const main = task.optimizers.filter(({ ablation }) => !ablation);
  const ablations = task.optimizers.filter(({ ablation }) => ablation);
  return (
    <section class="task" aria-labelledby={id}>
      <h3 id={id} tabIndex={-1}>
        {task.title}
      </h3>
      <p class="facts">{facts(task)}</p>

      <h4>Results</h4>
      <ResultsTable task={task} optimizers={main} caption="Against the baseline, over the measured seeds" />
      {ablations.length > 0 && (
        <details class="fold" open={printing.value || undefined}>
          <summary>Ablations ({ablations.length}): parts of a grid alone, a family of their own</summary>
          <ResultsTable task={task} optimizers={ablations} caption="Ablations against the baseline" />
        </details>
      )}

      <h4>Curves</h4>
      <p class="soft hint">
        Drag across a chart to zoom, with Shift for a box; a double click goes back. With the keyboard, arrows
        read values, + and − zoom, 0 goes back. With a finger, a tap reads values.
      </p>
      <Lazy height={700}>{() => <Curves task={task} choice={choice} />}</Lazy>

      <h4>At equal cost</h4>
      <CostTable optimizers={main} />
      <Lazy height={380}>{() => <BestOf task={task} choice={choice} />}</Lazy>

      <Lazy height={380}>{() => <Estimator task={task} choice={choice} />}</Lazy>

      {tunable(task).length > 0 && (
        <>
          <h4>Settings</h4>
          <Lazy height={900}>{() => <SettingsView task={task} />}</Lazy>
        </>
      )}
    </section>
  );
}

interface PartProps {
  task: Task;
  choice: Parameters<typeof lossFigures>[1];
}

function Curves({ task, choice }: PartProps) {
  const figures = useMemo(() => lossFigures(task, choice), [task, choice]);
  return (
    <div class="charts">
      {figures.map((figure) => (
        <ChartCard key={figure.id} figure={figure} wide={figures.length === 1} />
      ))}
    </div>
  );
}

function BestOf({ task, choice }: PartProps) {
  const figure = useMemo(() => bestOfFigure(task, choice), [task, choice]);
  return (
    figure && (
      <div class="charts">
        <ChartCard figure={figure} wide />
      </div>
    )
  );
}

function Estimator({ task, choice }: PartProps) {
  const figures = useMemo(() => estimatorFigures(task, choice), [task, choice]);
  if (figures.length === 0) return null;
  return (
    <>
      <h4>Estimator of the gradient</h4>
      <div class="charts three">
        {figures.map((figure) => (
          <ChartCard key={figure.id} figure={figure} />
        ))}
      </div>
    </>
  );
}
