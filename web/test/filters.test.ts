// SPDX-License-Identifier: MIT
// Filters of studies and runs, and addresses of the dashboard.
import { describe, expect, it } from "vitest";
import { filterRuns, filterStudies, matches } from "../src/data/filters";
import { links, parseRoute } from "../src/dashboard/route";
import type { RunTable, StudyEntry } from "../src/model";

it("wants all words, in any order and case", () => {
  expect(matches("Diag-TO lr 0.1 beta 1", "beta diag")).toBe(true);
  expect(matches("Diag-TO", "adam")).toBe(false);
  expect(matches("anything", "")).toBe(true);
});

it("filters studies by name and state", () => {
  const studies = [
    { name: "convex", machine: "EPYC", state: "running" },
    { name: "<img src=x>", machine: "EPYC", state: "complete" },
  ] as StudyEntry[];
  expect(filterStudies(studies, "", "all")).toHaveLength(2);
  expect(filterStudies(studies, "<img", "all")).toHaveLength(1);
  expect(filterStudies(studies, "epyc", "running")).toHaveLength(1);
  expect(filterStudies([], "x", "all")).toEqual([]);
});

describe("runs", () => {
  const run = { task: 0, phase: "tune" as const, seed: 0, loss: 1, diverged: false, pruned: false };
  const table: RunTable = {
    tasks: ["kdd logistic"],
    runs: [
      { ...run, id: 0, optimizer: "adam", options: { lr: "0.1" } },
      { ...run, id: 1, optimizer: "diag-to", options: { lr: "0.5" }, diverged: true },
      { ...run, id: 2, optimizer: "diag-to", options: { lr: "0.5" }, phase: "measure", seed: 3 },
    ],
  };
  const ids = (filter: Partial<Parameters<typeof filterRuns>[1]>) =>
    filterRuns(table, { query: "", phase: "all", outcome: "all", ...filter }).map(({ id }) => id);

  it("filters by words, phase and outcome", () => {
    expect(ids({})).toEqual([0, 1, 2]);
    expect(ids({ query: "kdd diag" })).toEqual([1, 2]);
    expect(ids({ query: "lr 0.1" })).toEqual([0]);
    expect(ids({ phase: "measure" })).toEqual([2]);
    expect(ids({ outcome: "diverged" })).toEqual([1]);
    expect(ids({ outcome: "finished", query: "seed 3" })).toEqual([2]);
  });
});

it("reads and writes addresses", () => {
  expect(parseRoute("")).toEqual({ page: "list" });
  expect(parseRoute(links.list)).toEqual({ page: "list" });
  expect(parseRoute(links.runs(0, 3))).toEqual({
    page: "study",
    store: 0,
    study: 3,
    tab: "runs",
    task: null,
  });
  const keys = [
    { store: 0, study: 3, run: 12 },
    { store: 1, study: 0, run: 4 },
  ];
  expect(parseRoute(links.compare(keys))).toEqual({ page: "compare", runs: keys });
  expect(parseRoute("#/compare/")).toEqual({ page: "compare", runs: [] });
  expect(parseRoute("#/study/x/3")).toEqual({ page: "unknown" });
  expect(parseRoute("#/<script>")).toEqual({ page: "unknown" });
});
