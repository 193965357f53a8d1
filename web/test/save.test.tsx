// SPDX-License-Identifier: MIT
// Saved figures stand alone.
// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { barSheet } from "../src/chart/bar_card";
import { fileName, svgText } from "../src/chart/save";
import { lineSheet } from "../src/chart/sheet";
import { stripSheet } from "../src/chart/strip_card";
import { WHOLE } from "../src/chart/view";
import { lossFigures } from "../src/data/figures";
import { byValue } from "../src/data/grid";
import { importances } from "../src/data/importance";
import { optimizerOf, runOf, smallGrid, taskOf } from "./fixtures";

const HOSTILE = `"><script>window.hacked=1</script>`;

function saved(): string {
  const task = taskOf([
    optimizerOf("adam", [runOf(1, [3, 2, 1]), runOf(2, [4, 3, 2])]),
    optimizerOf(HOSTILE, [runOf(1, [3, 2.5, 2])], { colour: "red;} body{", dash: [8, 4] }),
  ]);
  const [figure] = lossFigures(task, { scope: "s", x: "epoch", y: "auto", standardise: false });
  if (!figure) throw new Error("no figure");
  return svgText(lineSheet(figure, figure.series, WHOLE, true).drawing);
}

describe("a saved SVG", () => {
  const text = saved();
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");

  it("is well-formed", () => {
    expect(parsed.querySelector("parsererror")).toBeNull();
    expect(parsed.documentElement.namespaceURI).toBe("http://www.w3.org/2000/svg");
  });

  it("has title, legend, axis labels, a white ground and the curves", () => {
    const words = [...parsed.querySelectorAll("text")].map((element) => element.textContent);
    expect(words).toContain("Training loss");
    expect(words).toContain("a task");
    expect(words).toContain("adam");
    expect(words).toContain("epoch");
    expect(words).toContain("training loss F");
    expect(parsed.querySelector("rect")?.getAttribute("fill")).toBe("#ffffff");
    expect(parsed.querySelectorAll("path.curve")).toHaveLength(2);
  });

  it("needs nothing from outside", () => {
    expect(text).not.toMatch(/var\(--|href=|@import|url\((?!#)/);
    expect(text).not.toContain('class="chart"');
  });

  it("keeps hostile names as text and hostile colours out", () => {
    expect(parsed.querySelector("script")).toBeNull();
    expect([...parsed.querySelectorAll("text")].map((element) => element.textContent)).toContain(HOSTILE);
    expect(text).not.toContain("body{");
  });
});

it("draws a lone point as a dot, without the dashes of its optimizer", () => {
  const task = taskOf([optimizerOf("a", [runOf(1, [3])], { dash: [8, 4] })]);
  const [figure] = lossFigures(task, { scope: "s", x: "epoch", y: "auto", standardise: false });
  if (!figure) throw new Error("no figure");
  const text = svgText(lineSheet(figure, figure.series, WHOLE, true).drawing);
  const curve = new DOMParser().parseFromString(text, "image/svg+xml").querySelector("path.curve");
  expect(curve?.getAttribute("d")).toMatch(/^M[\d.]+,[\d.]+Z$/);
  expect(curve?.getAttribute("stroke-dasharray")).toBeNull();
});

describe("what mattered, saved", () => {
  const head = { title: `What mattered to ${HOSTILE}`, subject: "a task" };
  const strips = ["lr", "beta"].map((option) => ({
    option,
    groups: byValue(smallGrid, option),
    chosen: smallGrid.values[option]?.[1],
  }));
  const sheets = {
    bars: barSheet({ ...head, shares: importances(smallGrid) }),
    strips: stripSheet({ ...head, strips, extent: [1, 3], log: false }),
  };

  it.each(["bars", "strips"] as const)("stands alone on white, with its title: %s", (kind) => {
    const text = svgText(sheets[kind].drawing);
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    expect(parsed.querySelector("parsererror")).toBeNull();
    expect(parsed.querySelector("script")).toBeNull();
    expect(text).not.toMatch(/var\(--|href=|@import|url\(|NaN|undefined/);
    expect(parsed.querySelector("rect")?.getAttribute("fill")).toBe("#ffffff");
    const words = [...parsed.querySelectorAll("text")].map((element) => element.textContent);
    for (const word of [head.title, "a task", "lr", "beta"]) expect(words).toContain(word);
    expect(Number(parsed.documentElement.getAttribute("height"))).toBe(sheets[kind].size.height);
  });

  it("has a bar for each option, as long as its share", () => {
    const parsed = new DOMParser().parseFromString(svgText(sheets.bars.drawing), "image/svg+xml");
    const wide = [...parsed.querySelectorAll("rect.bar")].map((bar) => Number(bar.getAttribute("width")));
    expect(wide).toHaveLength(2);
    expect(wide[0]).toBeGreaterThan(wide[1] ?? Infinity);
  });
});

it("names files plainly", () => {
  expect(fileName("Training loss nsl-kdd, λ = 0.001", "svg")).toBe("training-loss-nsl-kdd-0.001.svg");
  expect(fileName("../../<x>", "png")).toBe("x.png");
  expect(fileName("λ", "png")).toBe("chart.png");
});
