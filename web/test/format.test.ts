// SPDX-License-Identifier: MIT
// Numbers, sizes and times as words.
import { expect, it } from "vitest";
import * as format from "../src/data/format";

it("writes numbers", () => {
  expect(format.number(0.123456)).toBe("0.1235");
  expect(format.number(-1.5, 3)).toBe("−1.50");
  expect(format.number(1234567)).toBe("1.235e6");
  expect(format.number(0.00001234)).toBe("1.234e−5");
  expect(format.number(123456, 3)).toBe("123456");
  expect(format.number(0)).toBe("0");
  expect(format.number(null)).toBe(format.NONE);
  expect(format.number(NaN)).toBe(format.NONE);
});

it("shortens numbers", () => {
  expect(format.short(0.5)).toBe("0.5");
  expect(format.short(100, 3)).toBe("100");
  expect(format.short(20, 4)).toBe("20");
});

it("writes rho in thousandths with its sign", () => {
  expect(format.thousandths(0.0114)).toBe("+11.4");
  expect(format.thousandths(-0.000944)).toBe("−0.944");
  expect(format.thousandths(0)).toBe("0");
  expect(format.thousandths(0.5)).toBe("+500");
  expect(format.thousandths(-0.0099999)).toBe("−10.0");
  expect(format.thousandths(null)).toBe(format.NONE);
});

it("writes probabilities", () => {
  expect(format.probability(0.00001)).toBe("< 0.0001");
  expect(format.probability(0.0046)).toBe("0.0046");
  expect(format.probability(0.5)).toBe("0.500");
});

it("writes bytes in binary units", () => {
  expect(format.bytes(0)).toBe("0 B");
  expect(format.bytes(1000)).toBe("1000 B");
  expect(format.bytes(1536)).toBe("1.50 KiB");
  expect(format.bytes(5 * 2 ** 30)).toBe("5.00 GiB");
  expect(format.bytes(500 * 2 ** 20)).toBe("500 MiB");
});

it("writes times", () => {
  expect(format.seconds(1.234)).toBe("1.23 s");
  expect(format.seconds(600)).toBe("10.0 min");
  expect(format.seconds(10_000)).toBe("2.8 h");
  expect(format.timeLeft(3)).toBe("a few seconds left");
  expect(format.timeLeft(180)).toBe("about 3 min left");
  expect(format.timeLeft(null)).toBe("");
  expect(format.date(1763304000)).toBe("2025-11-16 14:40 UTC");
  expect(format.timeOfDay(1763304007)).toBe("14:40:07 UTC");
  expect(format.timeOfDay(0)).toBe(format.timeOfDay(null));
});

it("writes counts, shares and options", () => {
  expect(format.count(1234567)).toBe("1\u202f234\u202f567");
  expect(format.plural(1, "run")).toBe("1 run");
  expect(format.percent(0.456)).toBe("46 %");
  expect(format.options({ lr: "0.1", beta: "1" })).toBe("lr 0.1, beta 1");
});
