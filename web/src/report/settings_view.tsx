// SPDX-License-Identifier: MIT
// The grid of one optimizer: heat maps over two options, and which option mattered.
import { useSignal } from "@preact/signals";
import { extent } from "d3-array";
import { useMemo } from "preact/hooks";
import { BarCard } from "../chart/bar_card";
import { HeatCard } from "../chart/heat_card";
import type { HeatFigure, HeatKind } from "../chart/heat_map";
import { StripCard } from "../chart/strip_card";
import { plural } from "../data/format";
import { byValue, heatMap, rankedSettings, settingCount, variedOptions } from "../data/grid";
import { importances } from "../data/importance";
import { chosenPlace } from "../data/rows";
import type { Optimizer, Task } from "../model";

/** Optimizers whose grid has something to show. */
export function tunable(task: Task): Optimizer[] {
  return task.optimizers.filter(({ grid }) => variedOptions(grid).length > 0 && settingCount(grid) > 1);
}

function firstChoice(optimizers: Optimizer[]): string {
  const rich = optimizers.filter(({ grid, ablation }) => !ablation && variedOptions(grid).length > 1);
  const best = [...(rich.length > 0 ? rich : optimizers)].sort(
    (a, b) => settingCount(b.grid) - settingCount(a.grid),
  );
  return best[0]?.label ?? "";
}

export function SettingsView({ task }: { task: Task }) {
  const optimizers = tunable(task);
  const label = useSignal(firstChoice(optimizers));
  const optimizer = optimizers.find((one) => one.label === label.value) ?? optimizers[0];
  if (!optimizer) return null;
  return (
    <>
      <div class="pickers">
        <Picker
          label="Optimizer"
          value={optimizer.label}
          options={optimizers.map((one) => one.label)}
          onChange={(value) => (label.value = value)}
        />
      </div>
      <GridView key={optimizer.label} task={task} optimizer={optimizer} />
    </>
  );
}

interface PickerProps {
  label: string;
  value: string;
  options: string[];
  onChange: (value: string) => void;
}

function Picker({ label, value, options, onChange }: PickerProps) {
  return (
    <label class="picker">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

function GridView({ task, optimizer }: { task: Task; optimizer: Optimizer }) {
  const { grid, row } = optimizer;
  const varied = variedOptions(grid);
  const shares = useMemo(() => importances(grid), [grid]);
  const ranked = useMemo(() => rankedSettings(grid), [grid]);
  const first = shares[0]?.option ?? varied[0] ?? "";
  const xWish = useSignal(first);
  const yWish = useSignal(shares[1]?.option ?? null);
  const x = varied.includes(xWish.value) ? xWish.value : first;
  const y =
    varied.find((name) => name === yWish.value && name !== x) ?? varied.find((name) => name !== x) ?? null;
  const map = useMemo(() => heatMap(grid, x, y), [grid, x, y]);
  const chosenX = chosenPlace(grid, x, row);
  const chosenY = y === null ? 0 : chosenPlace(grid, y, row);
  const figure = (kind: HeatKind): HeatFigure => ({
    kind,
    title: kind === "loss" ? `Best loss of ${optimizer.label}` : `Share of ${optimizer.label} that diverged`,
    subject: task.title,
    map,
    optimum: task.optimum,
    chosen: chosenX === null || chosenY === null ? null : { x: chosenX, y: chosenY },
  });
  const total = settingCount(grid);
  return (
    <>
      <div class="pickers">
        <Picker label="Across" value={x} options={varied} onChange={(value) => (xWish.value = value)} />
        {y !== null && (
          <Picker
            label="Up"
            value={y}
            options={varied.filter((name) => name !== x)}
            onChange={(value) => (yWish.value = value)}
          />
        )}
      </div>
      <div class="charts">
        <HeatCard
          figure={figure("loss")}
          caption={`Least loss on the tuning seed over all other options; ${plural(total, "setting")}. Hatched with × is where all diverged. The frame marks what tuning chose.`}
        />
        <HeatCard
          figure={figure("diverged")}
          caption={`Share of the settings of a cell that diverged; ${grid.diverged.length} of ${total} in all${
            grid.pruned.length > 0 ? `, and ${grid.pruned.length} were taken out early` : ""
          }.`}
        />
      </div>
      <WhatMattered task={task} optimizer={optimizer} varied={varied} shares={shares} ranked={ranked} />
    </>
  );
}

interface MatteredProps {
  task: Task;
  optimizer: Optimizer;
  varied: string[];
  shares: ReturnType<typeof importances>;
  ranked: number[];
}

function WhatMattered({ task, optimizer, varied, shares, ranked }: MatteredProps) {
  const { grid, row } = optimizer;
  if (ranked.length < 2)
    return <p class="soft">Too few settings got to their end to say which option mattered.</p>;
  const losses = ranked.map((setting) => grid.loss[setting] as number);
  const [low = 0, high = 0] = extent(losses);
  const strips = varied.map((option) => {
    const place = chosenPlace(grid, option, row);
    const chosen = place === null ? undefined : grid.values[option]?.[place];
    return { option, groups: byValue(grid, option), chosen };
  });
  return (
    <>
      <BarCard
        figure={{ title: `Which option mattered to ${optimizer.label}`, subject: task.title, shares }}
        caption={`Settings are ranked by their loss; a bar is the share of the variance of these ranks that lies between the values of one option. Over the ${ranked.length} settings that got to their end. What the bars leave out is options acting together.`}
      />
      <StripCard
        figure={{
          title: `Loss of ${optimizer.label} by each option`,
          subject: task.title,
          strips,
          extent: [low, high],
          log: low > 0 && high > 10 * low,
        }}
        caption="Each dot is a setting, by its loss on the tuning seed; the bar is the median; × counts those that diverged. The chosen value is framed."
      />
    </>
  );
}
