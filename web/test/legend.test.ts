// SPDX-License-Identifier: MIT
// What the legend's buttons do.
import { beforeEach, expect, it } from "vitest";
import type { Study } from "../src/model";
import { hidden, isolate, isShown, meet, showAll, toggle } from "../src/state/settings";
import { optimizerOf, taskOf } from "./fixtures";

const labels = ["a", "b", "c"];
const shown = () => labels.filter(isShown);

beforeEach(showAll);

it("hides and shows", () => {
  toggle("b");
  expect(shown()).toEqual(["a", "c"]);
  toggle("b");
  expect(shown()).toEqual(labels);
});

it("shows one alone, and all again", () => {
  isolate("b", labels);
  expect(shown()).toEqual(["b"]);
  isolate("c", labels);
  expect(shown()).toEqual(["c"]);
  isolate("c", labels);
  expect(shown()).toEqual(labels);
});

it("starts without ablations, and keeps to what the reader chose when new data come", () => {
  const study = {
    tasks: [taskOf([optimizerOf("main", []), optimizerOf("part", [], { ablation: true })])],
  } as unknown as Study;
  meet([study]);
  expect([...hidden.value]).toEqual(["part"]);
  toggle("part");
  meet([study]);
  expect(isShown("part")).toBe(true);
});
