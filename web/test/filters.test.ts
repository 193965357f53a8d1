// SPDX-License-Identifier: MIT
// Filters of studies and runs, and addresses of the dashboard.
import { expect, it } from "vitest";
import { filterStudies, matches } from "../src/data/filters";
import { links, parseRoute } from "../src/dashboard/route";
import type { StudyEntry } from "../src/model";

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
