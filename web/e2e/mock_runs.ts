// SPDX-License-Identifier: MIT
// Runs of a sample study, and the pages of them that the server would send.
import { matches, outcomeOf } from "../src/data/filters";
import { options } from "../src/data/format";
import { sortBy, type Key } from "../src/data/sorting";
import type { RunDetail, RunPage, Study } from "../src/model";

type RunEntry = RunPage["runs"][number];

export interface SampleRuns {
  tasks: string[];
  runs: RunEntry[];
  details: RunDetail[];
}

export function pageOf({ tasks, runs }: SampleRuns, query: URLSearchParams): RunPage {
  const is = (name: string, value: string): boolean => [null, "all", value].includes(query.get(name));
  const found = runs.filter((run) => {
    const text = `${run.optimizer} ${tasks[run.task] ?? ""} seed ${run.seed} ${options(run.options)}`;
    return (
      is("phase", run.phase) &&
      is("outcome", outcomeOf(run)) &&
      matches(text, (query.get("words") ?? "").trim())
    );
  });
  const keys: Record<string, (run: RunEntry) => Key> = {
    task: (run) => tasks[run.task],
    outcome: outcomeOf,
    options: (run) => options(run.options),
  };
  const order = query.get("order") ?? "loss";
  const key =
    keys[order] ?? ((run: RunEntry) => run[order as "id" | "optimizer" | "phase" | "seed" | "loss"]);
  const direction = query.get("direction") === "descending" ? "descending" : "ascending";
  const offset = Number(query.get("offset") ?? 0);
  return {
    tasks,
    total: runs.length,
    found: found.length,
    runs: sortBy(found, key, direction).slice(offset, offset + Number(query.get("count") ?? 50)),
  };
}

export function sampleRuns(study: Study): SampleRuns {
  const runs: RunEntry[] = [];
  const details: RunDetail[] = [];
  study.tasks.forEach((task, at) => {
    for (const optimizer of task.optimizers) {
      optimizer.grid.loss.forEach((loss, setting) => {
        const options: Record<string, string> = {};
        for (const [name, values] of Object.entries(optimizer.grid.values)) {
          options[name] = values[optimizer.grid.settings[name]?.[setting] ?? 0] ?? "";
        }
        add("tune", 0, loss, loss === null, options);
      });
      for (const run of optimizer.runs) {
        const least = run.diverged
          ? null
          : Math.min(...run.points.train_loss.slice(1).map((value) => value ?? Infinity));
        add("measure", run.seed, least, run.diverged, optimizer.row?.options ?? {});
      }
      function add(
        phase: "tune" | "measure",
        seed: number,
        loss: number | null,
        diverged: boolean,
        options: Record<string, string>,
      ): void {
        const id = runs.length;
        runs.push({
          id,
          task: at,
          optimizer: optimizer.label,
          phase,
          seed,
          loss,
          diverged,
          pruned: false,
          options,
        });
        const run = optimizer.runs[seed % optimizer.runs.length];
        if (!run) return;
        details.push({
          id,
          task: task.name,
          optimizer: optimizer.label,
          method: optimizer.method,
          phase,
          seed,
          diverged,
          diverged_at: diverged ? 7 : 0,
          pruned: false,
          state_bytes: optimizer.row?.state_bytes ?? 0,
          options,
          points: run.points,
          command: `tandem train --data ${task.data} --optimizer ${optimizer.method} --seed ${seed}`,
        });
      }
    }
  });
  return { tasks: study.tasks.map(({ name }) => name), runs, details };
}
