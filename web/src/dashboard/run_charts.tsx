// SPDX-License-Identifier: MIT
// The charts of one or several single runs, under the controls of all charts.
import { useMemo } from "preact/hooks";
import { ChartCard } from "../chart/chart_card";
import { estimatorFigures, lossFigures } from "../data/figures";
import type { Task } from "../model";
import { ChartControls } from "../report/chart_controls";
import { standardise, xAxis, yScale } from "../state/settings";

export function RunCharts({ task, scope }: { task: Task; scope: string }) {
  const x = xAxis.value;
  const y = yScale.value;
  const standard = standardise.value;
  const figures = useMemo(() => {
    const choice = { scope, x, y, standardise: standard };
    return [...lossFigures(task, choice), ...estimatorFigures(task, choice)].map((figure) => ({
      ...figure,
      caption: figure.caption.replace("One seed.", "").trim(),
    }));
  }, [task, scope, x, y, standard]);
  return (
    <>
      <div class="inline-controls">
        <ChartControls />
      </div>
      <div class="charts">
        {figures.map((figure, at) => (
          <ChartCard key={figure.id} figure={figure} wide={at === 0} />
        ))}
      </div>
    </>
  );
}
