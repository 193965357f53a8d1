// SPDX-License-Identifier: MIT
// Addresses that name a study, a task or a page.
import { describe, expect, it } from "vitest";
import { links, parseRoute } from "../src/dashboard/route";
import type { Study } from "../src/model";
import { distinct, placeOf, placeText } from "../src/report/place";
import { taskOf } from "./fixtures";

const HOSTILE = `"><script>&study=x#?/%zz λ=1 +`;

function studyOf(name: string, tasks: string[]): Study {
  return { name, tasks: tasks.map((task) => taskOf([], { name: task })) } as Study;
}

describe("a place of a report", () => {
  const studies = [studyOf("a", ["one", HOSTILE]), studyOf(HOSTILE, ["one"]), studyOf("a", ["three"])];

  it("comes back from its address, whatever names hold", () => {
    const hash = (study: string, task?: string) => `#${placeText({ study, task })}`;
    expect(placeOf(studies, hash("a", "one"))).toEqual({ study: 0, task: 0 });
    expect(placeOf(studies, hash("a", HOSTILE))).toEqual({ study: 0, task: 1 });
    expect(placeOf(studies, hash(HOSTILE, "one"))).toEqual({ study: 1, task: 0 });
    expect(placeOf(studies, hash("a (2)", "three"))).toEqual({ study: 2, task: 0 });
    expect(placeOf(studies, hash(HOSTILE))).toEqual({ study: 1, task: null });
    expect(placeOf(studies, `#${placeText({ task: "one" })}`)).toEqual({ study: 0, task: 0 });
  });

  it("has an address that no browser writes in another way", () => {
    expect(placeText({ study: HOSTILE, task: HOSTILE })).toMatch(/^[\w%&=+*.-]+$/);
  });

  it("is the start where the address says nothing that is known", () => {
    for (const hash of ["", "#", "#main", "#study=b&task=one", "#task=none", "#%zz", "#study"]) {
      expect(placeOf(studies, hash)).toEqual({ study: 0, task: null });
    }
    expect(placeOf([], "#task=one")).toEqual({ study: 0, task: null });
  });

  it("tells studies of one name apart", () => {
    expect(distinct(["a", "a", "b", "a", "a (2)"])).toEqual(["a", "a (2)", "b", "a (3)", "a (2) (2)"]);
  });
});

describe("a route of the dashboard", () => {
  it("can name a task", () => {
    const study = { page: "study", store: 2, study: 7, tab: "results" };
    expect(parseRoute(links.study(2, 7))).toEqual({ ...study, task: null });
    expect(parseRoute(links.task(2, 7, HOSTILE))).toEqual({ ...study, task: HOSTILE });
    expect(parseRoute(links.runs(2, 7))).toEqual({ ...study, tab: "runs", task: null });
  });

  it("stays what it was without one", () => {
    const key = { store: 1, study: 2, run: 3 };
    expect(parseRoute("")).toEqual({ page: "list" });
    expect(parseRoute(links.list)).toEqual({ page: "list" });
    expect(parseRoute(links.run(key))).toEqual({ page: "run", key });
    expect(parseRoute(links.compare([key]))).toEqual({ page: "compare", runs: [key] });
    expect(parseRoute("#/study/x/1?task=a")).toEqual({ page: "unknown" });
  });
});
