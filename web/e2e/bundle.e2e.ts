// SPDX-License-Identifier: MIT
// The bundle can stand inside a page, under its security policy.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bundleFolder } from "./report_file";

const script = readFileSync(join(bundleFolder(), "app.js"), "utf8");
const style = readFileSync(join(bundleFolder(), "app.css"), "utf8");

it("is two files, not large", () => {
  expect(readdirSync(bundleFolder()).sort()).toEqual(["app.css", "app.js"]);
  expect(script.length).toBeLessThan(400_000);
});

it("ends no element that it is put into", () => {
  expect(script).not.toMatch(/<\/script|<!--/i);
  expect(style).not.toMatch(/<\/style|<!--/i);
});

it("makes no code from text and loads nothing", () => {
  expect(script).not.toMatch(/\beval\(|new Function\(|\bimport\(/);
  expect(style).not.toMatch(/@import|url\(/);
  const addresses = script.match(/https?:\/\/[^"'`\s]+/g) ?? [];
  expect(addresses.filter((address) => !address.includes("//www.w3.org/"))).toEqual([]);
});
