// SPDX-License-Identifier: MIT
// Orders with gaps.
import { expect, it } from "vitest";
import { sortBy } from "../src/data/sorting";
import { nextOrder } from "../src/ui/sortable_table";

const self = <T>(value: T) => value;

it("puts nothing last, whichever way", () => {
  expect(sortBy([2, null, 3, NaN, 1], self, "ascending")).toEqual([1, 2, 3, null, NaN]);
  expect(sortBy([2, null, 3, NaN, 1], self, "descending")).toEqual([3, 2, 1, null, NaN]);
});

it("keeps equal ones in place", () => {
  const rows = [
    { name: "a", value: 1 },
    { name: "b", value: 1 },
    { name: "c", value: 0 },
  ];
  const names = (direction: "ascending" | "descending") =>
    sortBy(rows, (row) => row.value, direction).map((row) => row.name);
  expect(names("ascending")).toEqual(["c", "a", "b"]);
  expect(names("descending")).toEqual(["a", "b", "c"]);
});

it("orders words with numbers as people do", () => {
  expect(sortBy(["lr 10", "lr 2", "Adam"], self, "ascending")).toEqual(["Adam", "lr 2", "lr 10"]);
});

it("turns a column round at the second click", () => {
  const first = nextOrder(null, "rho", "descending");
  expect(first).toEqual({ id: "rho", direction: "descending" });
  expect(nextOrder(first, "rho", "descending")).toEqual({ id: "rho", direction: "ascending" });
  expect(nextOrder(first, "loss", "ascending")).toEqual({ id: "loss", direction: "ascending" });
});
