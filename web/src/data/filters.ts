// SPDX-License-Identifier: MIT
// Which studies and runs a reader asked for.
import type { RunTable, StudyEntry } from "../model";
import { options } from "./format";

export type RunEntry = RunTable["runs"][number];

/** Whether all words of a query stand somewhere in a text. */
export function matches(text: string, query: string): boolean {
  const lower = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

export type StudyState = StudyEntry["state"] | "all";

export function filterStudies(studies: StudyEntry[], query: string, state: StudyState): StudyEntry[] {
  return studies.filter(
    (study) => (state === "all" || study.state === state) && matches(`${study.name} ${study.machine}`, query),
  );
}

export interface RunFilter {
  query: string;
  phase: "all" | "tune" | "measure";
  outcome: "all" | "finished" | "diverged" | "pruned";
}

export function outcomeOf(run: { diverged: boolean; pruned: boolean }): "finished" | "diverged" | "pruned" {
  if (run.diverged) return "diverged";
  return run.pruned ? "pruned" : "finished";
}

export function filterRuns(table: RunTable, filter: RunFilter): RunEntry[] {
  return table.runs.filter((run) => {
    if (filter.phase !== "all" && run.phase !== filter.phase) return false;
    if (filter.outcome !== "all" && outcomeOf(run) !== filter.outcome) return false;
    if (filter.query.trim() === "") return true;
    const text = `${run.optimizer} ${table.tasks[run.task] ?? ""} seed ${run.seed} ${options(run.options)}`;
    return matches(text, filter.query);
  });
}
