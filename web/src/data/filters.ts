// SPDX-License-Identifier: MIT
// Which studies and runs a reader asked for.
import type { StudyEntry } from "../model";

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
  words: string;
  phase: "all" | "tune" | "measure";
  outcome: "all" | "finished" | "diverged" | "pruned";
}

export function outcomeOf(run: { diverged: boolean; pruned: boolean }): "finished" | "diverged" | "pruned" {
  if (run.diverged) return "diverged";
  return run.pruned ? "pruned" : "finished";
}
