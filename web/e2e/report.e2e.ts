// SPDX-License-Identifier: MIT
// The page of a report, as a reader uses it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  accessibilityFaults,
  cutOff,
  openBrowser,
  openPage,
  outputFolder,
  shoot,
  type Watched,
} from "./browser";
import { HOSTILE_IMAGE, HOSTILE_SCRIPT } from "./sample";
import { madeUp, reportTarget } from "./target";

const target = reportTarget();
let browser: Browser;
let watched: Watched;
let page: Page;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

async function open(
  options: Parameters<typeof openPage>[1] = {},
  address: string = target.address,
): Promise<void> {
  await watched?.page.context().close();
  watched = await openPage(browser, options);
  page = watched.page;
  await page.goto(address);
  await page.locator("h1").waitFor();
}

function card(title: string): Locator {
  return page.locator("figure.card", { has: page.locator("h5", { hasText: title }) }).first();
}

/** The chart of training loss, drawn and in sight. */
async function lossChart(): Promise<Locator> {
  const chart = card("raining loss").locator(".chart[tabindex]");
  await page.locator("h4", { hasText: "Curves" }).first().scrollIntoViewIfNeeded();
  await chart.scrollIntoViewIfNeeded();
  await chart.evaluate((element) => element.scrollIntoView({ block: "center" }));
  await page.waitForTimeout(100);
  return chart;
}

async function xLabels(chart: Locator): Promise<string> {
  return (await chart.locator("svg text[text-anchor=middle]").allTextContents()).join(" ");
}

async function dragAcross(chart: Locator, from: number, to: number, shift = false): Promise<void> {
  const box = await chart.locator(":scope > svg").boundingBox();
  if (!box) throw new Error("the chart is not there");
  if (shift) await page.keyboard.down("Shift");
  await page.mouse.move(box.x + box.width * from, box.y + box.height * 0.3);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), box.y + box.height * 0.5);
  await page.mouse.move(box.x + box.width * to, box.y + box.height * 0.6);
  await page.mouse.up();
  if (shift) await page.keyboard.up("Shift");
  await page.waitForTimeout(50);
}

describe("a report", () => {
  beforeEach(() => open());

  it("opens from a file without errors and without a network", async () => {
    await lossChart();
    expect(await page.locator("#app").textContent()).not.toContain("readers without scripts");
    expect(watched.troubles).toEqual([]);
    expect(watched.requests).toEqual([]);
    await page.evaluate(() => window.scrollTo(0, 0));
    await shoot(page, "report-light");
  });

  it("has landmarks and headings in order", async () => {
    for (const selector of ["header", "main", "footer", "a.skip"]) {
      expect(await page.locator(selector).count(), selector).toBeGreaterThan(0);
    }
    await lossChart();
    const levels = await page
      .locator("h1, h2, h3, h4, h5")
      .evaluateAll((elements) => elements.map((element) => Number(element.tagName[1])));
    expect(levels[0]).toBe(1);
    levels.slice(1).forEach((level, at) => expect(level - (levels[at] ?? 0)).toBeLessThanOrEqual(1));
  });

  it.each(["light", "dark"] as const)(
    "has no faults of access that a tool finds, %s",
    async (colorScheme) => {
      await open({ colorScheme });
      await lossChart();
      await page.locator("h4", { hasText: "Settings" }).first().scrollIntoViewIfNeeded();
      await page.waitForTimeout(300);
      expect(await accessibilityFaults(page)).toEqual([]);
    },
  );

  it("hides and shows an optimizer everywhere by the legend", async () => {
    const chart = await lossChart();
    const curves = chart.locator("path.curve");
    const before = await curves.count();
    const entry = page.locator(".legend-toggle").nth(1);
    await entry.click();
    expect(await entry.getAttribute("aria-pressed")).toBe("false");
    expect(await curves.count()).toBe(before - 1);
    expect(await page.locator("tr.off").count()).toBeGreaterThan(0);
    await entry.click();
    expect(await curves.count()).toBe(before);
    await entry.click({ modifiers: ["Shift"] });
    expect(await curves.count()).toBe(1);
    await page.locator(".legend-entry").first().hover();
    await page.locator(".legend-only").first().click();
    expect(await curves.count()).toBe(1);
    await page.locator(".legend .quiet").click();
    expect(await curves.count()).toBeGreaterThanOrEqual(before);
  });

  it("orders a table by every column, by pointer and by keyboard", async () => {
    const table = page.locator("table.data").first();
    const heads = table.locator("thead th");
    for (let at = 0; at < (await heads.count()); at += 1) {
      await heads.nth(at).locator("button").click();
      expect(["ascending", "descending"]).toContain(await heads.nth(at).getAttribute("aria-sort"));
    }
    const loss = table.locator("thead th", { hasText: "Least loss" });
    await loss.locator("button").focus();
    await page.keyboard.press("Enter");
    const column = await table.locator("tbody tr td:nth-child(2)").allTextContents();
    const numbers = column.map(Number).filter((value) => !Number.isNaN(value));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    await page.keyboard.press("Enter");
    expect(await loss.getAttribute("aria-sort")).toBe("descending");
  });

  it("zooms by dragging, by a box, and back", async () => {
    const chart = await lossChart();
    const whole = await xLabels(chart);
    await dragAcross(chart, 0.4, 0.7);
    const part = await xLabels(chart);
    expect(part).not.toBe(whole);
    await chart.locator(":scope > svg").dblclick({ position: { x: 200, y: 100 } });
    expect(await xLabels(chart)).toBe(whole);
    await dragAcross(chart, 0.3, 0.6, true);
    expect(await xLabels(chart)).not.toBe(whole);
    await card("raining loss").getByRole("button", { name: "Reset" }).click();
    expect(await xLabels(chart)).toBe(whole);
    await card("raining loss").getByRole("button", { name: "Zoom in" }).click();
    expect(await xLabels(chart)).not.toBe(whole);
  });

  it("reads values and zooms by the keyboard", async () => {
    const chart = await lossChart();
    const whole = await xLabels(chart);
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    const said = await chart.locator("[aria-live]").textContent();
    expect(said).toMatch(/^epoch \d+: .+ [\d.]+/);
    await page.keyboard.press("+");
    expect(await xLabels(chart)).not.toBe(whole);
    await page.keyboard.press("-");
    await page.keyboard.press("+");
    await page.keyboard.press("0");
    expect(await xLabels(chart)).toBe(whole);
    await page.keyboard.press("+");
    await page.keyboard.press("Escape");
    expect(await xLabels(chart)).toBe(whole);
  });

  it("lists every shown optimizer under the crosshair, the least first", async () => {
    const chart = await lossChart();
    await chart.locator(":scope > svg").hover({ position: { x: 300, y: 150 } });
    const rows = chart.locator(".tooltip tr");
    expect(await rows.count()).toBe(await chart.locator("path.curve").count());
    const values = (await chart.locator(".tooltip td.number").allTextContents()).map(Number);
    expect(values).toEqual([...values].sort((a, b) => a - b));
    await shoot(page, "report-tooltip");
  });

  it("changes axes of all charts", async () => {
    const chart = await lossChart();
    const axis = () => chart.locator(":scope > svg").textContent();
    const before = await page.evaluate(() => window.scrollY);
    for (const [choice, label] of [
      ["step", "step"],
      ["gradients", "gradient evaluations"],
      ["seconds", "time of training"],
    ] as const) {
      await page.locator(".segments label", { hasText: choice }).click();
      expect(await axis()).toContain(label);
    }
    expect(await page.evaluate(() => window.scrollY)).toBe(before);
    await page.locator(".segments label", { hasText: "log" }).click();
    await page.locator(".segments label", { hasText: "linear" }).click();
    await page.getByRole("switch", { name: "standardised" }).check();
    expect(await axis()).toContain("(F − min) / (max − min)");
    await page.getByRole("switch", { name: "band" }).uncheck();
    expect(watched.troubles).toEqual([]);
  });

  it("shows the values of a chart as a table", async () => {
    await lossChart();
    await card("raining loss").getByRole("button", { name: "Data" }).click();
    expect(await card("raining loss").locator(".data-table tbody tr").count()).toBeGreaterThan(0);
  });

  it("shows settings as heat maps with other axes at wish", async () => {
    const heading = page.locator("h4", { hasText: "Settings" }).first();
    await heading.scrollIntoViewIfNeeded();
    const heat = page.locator('[data-chart="heat-loss"]').first();
    await heat.waitFor();
    await heat.scrollIntoViewIfNeeded();
    const cells = heat.locator(".heat-cell");
    expect(await cells.count()).toBeGreaterThan(1);
    const pickers = page.locator(".pickers").nth(1).locator("select");
    const before = await heat.locator("svg").textContent();
    if ((await pickers.count()) === 2) {
      const names = await pickers.nth(0).locator("option").allTextContents();
      await pickers
        .nth(0)
        .selectOption(names.at(-1) === (await pickers.nth(0).inputValue()) ? names[0]! : names.at(-1)!);
      expect(await heat.locator("svg").textContent()).not.toBe(before);
    }
    expect(await page.locator('[data-chart="heat-diverged"]').count()).toBeGreaterThan(0);
    expect(await page.locator(".bars tr").count()).toBeGreaterThan(0);
    await heading.evaluate((element) => element.scrollIntoView());
    await shoot(page, "report-settings");
    expect(watched.troubles).toEqual([]);
  });

  it("saves SVG and PNG that stand alone", async () => {
    await lossChart();
    const [svg] = await Promise.all([
      page.waitForEvent("download"),
      card("raining loss").getByRole("button", { name: "Save SVG" }).click(),
    ]);
    const svgPath = join(outputFolder(), "saved.svg");
    await svg.saveAs(svgPath);
    const text = readFileSync(svgPath, "utf8");
    expect(svg.suggestedFilename()).toMatch(/^[a-z0-9.-]+\.svg$/);
    expect(text).toContain("Training loss");
    expect(text).not.toMatch(/var\(--|href=|<script/);
    expect(
      await page.evaluate(
        (source) =>
          new DOMParser().parseFromString(source, "image/svg+xml").querySelector("parsererror") === null,
        text,
      ),
    ).toBe(true);
    const [png] = await Promise.all([
      page.waitForEvent("download"),
      card("raining loss").getByRole("button", { name: "Save PNG" }).click(),
    ]);
    const pngPath = join(outputFolder(), "saved.png");
    await png.saveAs(pngPath);
    const bytes = readFileSync(pngPath);
    expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    expect(bytes.readUInt32BE(16)).toBe(1760);
    expect(watched.troubles).toEqual([]);
  });

  it.each(["importance", "strips"])("saves what mattered: %s", async (kind) => {
    const heading = page.locator("h4", { hasText: "Settings" }).first();
    await heading.scrollIntoViewIfNeeded();
    const figure = page.locator(`[data-chart="${kind}"]`).first();
    await figure.scrollIntoViewIfNeeded();
    for (const ending of ["svg", "png"]) {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        figure.getByRole("button", { name: `Save ${ending.toUpperCase()}` }).click(),
      ]);
      expect(file.suggestedFilename()).toMatch(new RegExp(`^[a-z0-9.-]+\\.${ending}$`));
      const path = join(outputFolder(), `saved-${kind}.${ending}`);
      await file.saveAs(path);
      const bytes = readFileSync(path);
      if (ending === "png") expect(bytes.subarray(1, 4).toString()).toBe("PNG");
      else expect(bytes.toString()).not.toMatch(/var\(--|href=|<script/);
    }
    await shoot(page, `report-${kind}`);
    expect(watched.troubles).toEqual([]);
  });

  it("fits its tables of results into 1400 pixels, settings on two lines", async () => {
    for (const fold of await page.locator("details.fold summary").all()) await fold.click();
    const wide = await page
      .locator(".table-scroll:has(> table.data)")
      .evaluateAll((tables) => tables.filter((table) => table.scrollWidth > table.clientWidth).length);
    expect(wide).toBe(0);
    const settings = await page.locator("table.data .setting").evaluateAll((all) =>
      all.map((one) => ({
        text: one.textContent?.trim(),
        title: one.getAttribute("title"),
        lines: one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight),
      })),
    );
    expect(settings.length).toBeGreaterThan(0);
    for (const { text, title, lines } of settings) {
      expect(title).toBe(text);
      expect(lines).toBeLessThan(2.2);
    }
    await page.locator("table.data").first().scrollIntoViewIfNeeded();
    await shoot(page, "report-results");
  });

  it("has an address for every task, which opens there again", async () => {
    const links = page.locator(".matrix tbody th a");
    const last = (await links.count()) - 1;
    const title = await links.nth(last).textContent();
    const start = page.url();
    await links.nth(last).click();
    await page.locator("section.task h3:focus").waitFor();
    const address = page.url();
    expect(address).toMatch(/#(study=[^#]*&)?task=[\w%+*.-]+$/);
    await page.waitForTimeout(800);
    await page.evaluate(() => window.scrollTo(0, 0));
    await links.nth(last).click();
    await page.waitForTimeout(800);
    expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(200);
    await page.goBack();
    expect(page.url()).toBe(start);

    await open({}, address);
    const heading = page.locator("section.task h3:focus");
    await heading.waitFor();
    await page.waitForTimeout(1200);
    expect(await heading.textContent()).toBe(title);
    const bar = await page.locator(".toolbar").boundingBox();
    const box = await heading.boundingBox();
    const below = (box?.y ?? 0) - (bar?.y ?? 0) - (bar?.height ?? 0);
    expect(below).toBeGreaterThanOrEqual(0);
    expect(below).toBeLessThan(60);
    expect(watched.troubles).toEqual([]);
  });

  it.skipIf(!target.isSample)("has an address for every study, hostile names too", async () => {
    const picker = page.locator(".toolbar select").first();
    const first = await picker.inputValue();
    await picker.selectOption({ label: HOSTILE_SCRIPT });
    expect(new URL(page.url()).hash).toMatch(/^#study=[\w%+*.-]+$/);
    expect(await page.locator("section.study h2").textContent()).toBe(HOSTILE_SCRIPT);
    const address = page.url();
    await page.goBack();
    await expect.poll(() => picker.inputValue()).toBe(first);
    await open({}, address);
    expect(await page.locator("section.study h2").textContent()).toBe(HOSTILE_SCRIPT);
    await open({}, `${target.address}#study=unknown&task=%zz`);
    expect(await page.locator(".toolbar select").first().inputValue()).toBe(first);
    expect(watched.troubles).toEqual([]);
  });

  it("prints all of it", async () => {
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    if (target.isSample) expect(await page.locator(".lazy:empty").count()).toBe(0);
    expect(await page.locator("section.study").count()).toBeGreaterThan(0);
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    const pdf = await page.pdf({ format: "A4", printBackground: true });
    const path = join(outputFolder(), "report.pdf");
    writeFileSync(path, pdf);
    const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? [];
    expect(pages.length).toBeGreaterThan(2);
    expect(watched.troubles).toEqual([]);
  });

  it.skipIf(!target.isSample)("runs nothing that a name holds", async () => {
    await lossChart();
    await page.locator(".toolbar select").first().selectOption({ label: HOSTILE_SCRIPT });
    await lossChart();
    expect(await page.locator("h2", { hasText: HOSTILE_SCRIPT }).count()).toBe(1);
    expect(await page.locator(".legend-label", { hasText: HOSTILE_IMAGE }).count()).toBe(1);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.evaluate(() => "hacked" in window)).toBe(false);
    expect(watched.troubles).toEqual([]);
  });

  it.each([1400, 1024, 380])("goes to every task from the overview, %i pixels wide", async (width) => {
    await open({ viewport: { width, height: 850 } });
    const links = page.locator(".matrix tbody th a");
    for (let at = (await links.count()) - 1; at >= 0; at -= 1) {
      await page.evaluate(() => window.scrollTo(0, 0));
      const title = await links.nth(at).textContent();
      await links.nth(at).click();
      // Longer than it takes until all that is drawn on the way has its place.
      await page.waitForTimeout(1200);
      const heading = page.locator("section.task h3:focus");
      expect(await heading.textContent()).toBe(title);
      const bar = await page.locator(".toolbar").boundingBox();
      const box = await heading.boundingBox();
      const below = (box?.y ?? 0) - (bar?.y ?? 0) - (bar?.height ?? 0);
      expect(below).toBeGreaterThanOrEqual(0);
      expect(below).toBeLessThan(60);
    }
  });
});

it("is dark where the reader wants it, and black curves turn light", async () => {
  await open({ colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.locator(".segments label", { hasText: "dark" }).click();
  expect(await background()).not.toBe(light);
  const chart = await lossChart();
  if (target.isSample) {
    const stroke = await chart
      .locator("path.curve")
      .first()
      .evaluate((path) => getComputedStyle(path).stroke);
    expect(stroke).toBe("rgb(242, 244, 246)");
  }
  await page.evaluate(() => window.scrollTo(0, 0));
  await shoot(page, "report-dark");
  await lossChart();
  await shoot(page, "report-dark-charts");
  await open({ colorScheme: "dark" });
  expect(await background()).not.toBe(light);
});

it("fits a width of 380 pixels", async () => {
  await open({ viewport: { width: 380, height: 800 } });
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  for (let y = 0; y < height; y += 700) {
    await page.evaluate((to) => window.scrollTo(0, to), y);
    await page.waitForTimeout(30);
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(380);
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.getByRole("button", { name: "Controls" }).click();
  await shoot(page, "report-phone");
  await lossChart();
  await shoot(page, "report-phone-chart");
});

it.each([1400, 1024, 380])("cuts off no word of a drawing, %i pixels wide", async (width) => {
  await open({ viewport: { width, height: 800 } });
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  for (let y = 0; y < height * 1.5; y += 700) {
    await page.evaluate((to) => window.scrollTo(0, to), y);
    await page.waitForTimeout(40);
  }
  for (const axis of ["epoch", "step", "gradients"]) {
    await page
      .locator(".segments label", { hasText: axis })
      .evaluate((label) => (label as HTMLElement).click());
    await page.waitForTimeout(100);
    expect(await cutOff(page), axis).toEqual([]);
  }
});

it("answers to a finger: a tap reads values, a swipe scrolls the page", async () => {
  await open({ viewport: { width: 380, height: 800 }, hasTouch: true, isMobile: true });
  const chart = await lossChart();
  const drawing = chart.locator(":scope > svg");
  expect(await drawing.evaluate((svg) => getComputedStyle(svg).touchAction)).toMatch(/^pan-y/);
  const whole = await xLabels(chart);
  const box = await drawing.boundingBox();
  if (!box) throw new Error("the chart is not there");
  await page.touchscreen.tap(box.x + box.width * 0.5, box.y + box.height * 0.4);
  const tooltip = chart.locator(".tooltip");
  await tooltip.waitFor();
  const room = await tooltip.boundingBox();
  expect(room?.x).toBeGreaterThanOrEqual(0);
  expect((room?.x ?? 0) + (room?.width ?? 0)).toBeLessThanOrEqual(380);
  expect(await tooltip.locator("tr").count()).toBe(await chart.locator("path.curve").count());
  const read = await tooltip.locator(".tooltip-head").textContent();
  await shoot(page, "report-phone-tap");
  await page.touchscreen.tap(box.x + box.width * 0.85, box.y + box.height * 0.4);
  await expect.poll(() => tooltip.locator(".tooltip-head").textContent()).not.toBe(read);

  const before = await page.evaluate(() => window.scrollY);
  const session = await page.context().newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", x: number, y: number) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x, y }] });
  const swipe = async (across: number, up: number) => {
    const x = box.x + box.width * 0.5;
    const y = box.y + box.height * 0.6;
    await touch("touchStart", x, y);
    for (let part = 0.1; part < 1.05; part += 0.1) await touch("touchMove", x + across * part, y - up * part);
    await touch("touchEnd", 0, 0);
  };
  await swipe(100, 0);
  expect(await xLabels(chart)).toBe(whole);
  expect(await tooltip.count()).toBe(1);
  await swipe(0, 250);
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBeGreaterThan(before + 100);
  expect(await xLabels(chart)).toBe(whole);
  await page.waitForTimeout(500);
  await page.locator("h4", { hasText: "At equal cost" }).first().tap();
  await expect.poll(() => tooltip.count()).toBe(0);
  expect(watched.troubles).toEqual([]);
});

it("stands reports with next to nothing in them", async () => {
  for (const name of ["bare", "empty"] as const) {
    await open({}, madeUp(name));
    for (let times = 0; times < 12; times += 1) {
      await page.mouse.wheel(0, 600);
      await page.waitForTimeout(40);
    }
    for (const choice of ["log", "seconds", "gradients"]) {
      const segment = page.locator(".segments label", { hasText: choice });
      if ((await segment.count()) > 0) await segment.click();
    }
    await page.evaluate(() => window.scrollTo(0, 0));
    await shoot(page, `report-${name}`);
    expect(await page.locator("main").textContent()).not.toMatch(/NaN|undefined|Infinity/);
    expect(watched.troubles).toEqual([]);
  }
});

it("zooms twenty thousand points at once", async () => {
  await open({}, madeUp("long"));
  const chart = await lossChart();
  const path = await chart.locator("path.curve").first().getAttribute("d");
  expect((path ?? "").split("L").length).toBeLessThan(4 * 1400);
  const whole = await xLabels(chart);
  await dragAcross(chart, 0.5, 0.55);
  expect(await xLabels(chart)).not.toBe(whole);
  await chart.focus();
  const times = await page.evaluate(async () => {
    const element = document.activeElement as HTMLElement;
    const times: number[] = [];
    for (const key of ["0", "+", "+", "-", "ArrowRight", "+", "0"]) {
      const start = performance.now();
      element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      await new Promise((done) => setTimeout(done));
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b);
  });
  // The aim is 50 ms of script; a machine that is busy with other work may take longer.
  const median = times[Math.floor(times.length / 2)] ?? Infinity;
  expect(median).toBeLessThan(200);
  console.info(
    `keys on 4 x 20,000 points: median ${median.toFixed(1)} ms, worst ${times.at(-1)?.toFixed(1)} ms`,
  );
  await shoot(page, "report-long");
  expect(watched.troubles).toEqual([]);
});
