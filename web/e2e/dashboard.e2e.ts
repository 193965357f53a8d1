// SPDX-License-Identifier: MIT
// The dashboard, as a reader uses it while a study runs.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityFaults, cutOff, openBrowser, openPage, shoot, type Watched } from "./browser";
import { HOSTILE_IMAGE, HOSTILE_SCRIPT } from "./sample";
import { dashboardTarget, type DashboardTarget } from "./target";

let browser: Browser;
let target: DashboardTarget;
let watched: Watched;
let page: Page;
const isReal = !!process.env["TANDEM_DASHBOARD_URL"];

beforeAll(async () => {
  browser = await openBrowser();
  target = await dashboardTarget();
  watched = await openPage(browser);
  page = watched.page;
  await page.goto(target.address);
  await page.locator(".study-item").first().waitFor();
});

afterAll(async () => {
  await browser.close();
  await target.mock?.stop();
});

async function go(hash: string): Promise<void> {
  await page.evaluate((to) => (window.location.hash = to), hash);
  await page.waitForTimeout(100);
}

describe("the list of studies", () => {
  it("shows studies, workers and their state", async () => {
    expect(await page.locator(".study-item").count()).toBeGreaterThan(0);
    expect(await page.locator(".connection").textContent()).toBe("Live");
    expect(await cutOff(page)).toEqual([]);
    await shoot(page, "dashboard-list");
  });

  it.skipIf(isReal)("says where workers are and when they were last seen", async () => {
    const worker = await page.locator(".worker").first().textContent();
    expect(worker).toContain("Some CPU, 2 processors, AVX2; last seen ");
    expect(worker).toMatch(/last seen \d\d:\d\d:\d\d UTC/);
  });

  it.skipIf(isReal)("shows stores that cannot be read", async () => {
    expect(await page.locator("[role=alert]").textContent()).toContain("the file is not a store");
  });

  it.skipIf(isReal)("moves on without a reload", async () => {
    const bar = page.locator(".study-item", { hasText: "running" }).locator("[role=progressbar]").first();
    const points = () => page.locator("[data-points]").first().getAttribute("data-points");
    const before = [await bar.getAttribute("aria-valuenow"), await points()];
    await page.evaluate(() => Object.assign(window, { sameDocument: true }));
    target.mock?.advance();
    target.mock?.advance();
    await page.waitForTimeout(300);
    expect([await bar.getAttribute("aria-valuenow"), await points()]).not.toEqual(before);
    expect(await page.evaluate(() => "sameDocument" in window)).toBe(true);
  });

  it.skipIf(isReal)("filters and orders", async () => {
    const names = () => page.locator(".study-item h3").allTextContents();
    await page.getByRole("searchbox").fill("conv");
    expect(await names()).toEqual(["convex"]);
    await page.getByRole("searchbox").fill("");
    await page.getByLabel("State").selectOption("stopped");
    expect(await names()).toEqual([HOSTILE_SCRIPT]);
    await page.getByLabel("State").selectOption("all");
    await page.getByLabel("Order").selectOption("name");
    expect((await names()).slice(1)).toEqual(["convex", "deep"]);
    await page.getByLabel("Order").selectOption("progress");
    expect((await names()).at(-1)).toBe("convex");
  });
});

describe("a study", () => {
  it("opens as a report", async () => {
    await page.locator(".study-item h3 a").first().click();
    await page.locator(".task").first().waitFor();
    expect(await page.locator(".legend-toggle").count()).toBeGreaterThan(0);
    await shoot(page, "dashboard-study");
  });

  it("has an address for every task, which opens there again", async () => {
    const link = page.locator(".matrix tbody th a").last();
    const title = await link.textContent();
    await link.click();
    const heading = page.locator("section.task h3:focus");
    await heading.waitFor();
    expect(await heading.textContent()).toBe(title);
    expect(new URL(page.url()).hash).toMatch(/^#\/study\/\d+\/\d+\?task=[\w%+*.-]+$/);
    await page.reload();
    await heading.waitFor();
    expect(await heading.textContent()).toBe(title);
    await page.waitForTimeout(1000);
    expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(100);
    await page.goBack();
    await page.locator(".task").first().waitFor();
    expect(new URL(page.url()).hash).toMatch(/^#\/study\/\d+\/\d+$/);
  });

  it.skipIf(isReal)("keeps the zoom and the legend when new figures come", async () => {
    await go("#/study/0/1");
    await page.locator(".task").first().waitFor();
    await page.locator(".legend-toggle").nth(1).click();
    const chart = page.locator(".chart[tabindex]").first();
    await page.locator("h4", { hasText: "Curves" }).first().scrollIntoViewIfNeeded();
    await chart.scrollIntoViewIfNeeded();
    await page.getByRole("button", { name: "Zoom in" }).first().click();
    const labels = () => chart.locator("svg text[text-anchor=middle]").allTextContents();
    const before = await labels();
    const fetched = page.waitForRequest(/\/api\/studies\/0\/1/, { timeout: 15_000 });
    target.mock?.advance();
    await fetched;
    await page.waitForTimeout(400);
    expect(await labels()).toEqual(before);
    expect(await page.locator(".legend-toggle").nth(1).getAttribute("aria-pressed")).toBe("false");
    await page.locator(".legend-toggle").nth(1).click();
  });

  it("lists its runs, filtered and in order", async () => {
    await page.getByRole("link", { name: "Runs" }).click();
    await page.locator("table.runs tbody tr").first().waitFor();
    await shoot(page, "dashboard-runs");
    await page.getByLabel("Phase").selectOption("measure");
    const phases = page.locator("table.runs tbody tr td:nth-child(5)");
    await expect
      .poll(async () => (await phases.allTextContents()).every((phase) => phase === "measure"))
      .toBe(true);
    const losses = (await page.locator("table.runs tbody tr td:nth-child(7)").allTextContents()).map(Number);
    const numbers = losses.filter((value) => !Number.isNaN(value));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    await page.getByRole("searchbox").fill("no such optimizer");
    await expect.poll(() => page.locator("table.runs tbody tr").count()).toBe(0);
    await page.getByRole("searchbox").fill("");
  });

  it("shows a run with the command that trains it again", async () => {
    await page.locator("table.runs tbody tr a").first().click();
    await page.locator(".command code").waitFor();
    expect(await page.locator(".command code").textContent()).toMatch(/\S/);
    await page.getByRole("button", { name: /Copy the command/ }).click();
    await page.locator(".chart path.curve").first().waitFor();
    await shoot(page, "dashboard-run");
    await page.goBack();
  });

  it("compares ticked runs", async () => {
    await page.locator("table.runs tbody tr").first().waitFor();
    const boxes = page.locator("table.runs tbody input[type=checkbox]");
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    if (target.mock) {
      await go("#/study/0/0/runs");
      await page.locator("table.runs tbody tr").first().waitFor();
      await boxes.nth(0).check();
    }
    await page.getByRole("link", { name: "Compare" }).click();
    await page.locator(".chart path.curve").first().waitFor();
    const wanted = target.mock ? 3 : 2;
    expect(await page.locator("figure.card").first().locator("path.curve").count()).toBe(wanted);
    await shoot(page, "dashboard-compare");
    await page
      .getByRole("link", { name: /Remove run/ })
      .first()
      .click();
    await page.waitForTimeout(300);
    expect(await page.locator("figure.card").first().locator("path.curve").count()).toBe(wanted - 1);
  });
});

it("has no faults of access that a tool finds", async () => {
  for (const hash of ["#/", "#/study/0/1/runs"]) {
    await go(hash);
    await page.waitForTimeout(300);
    expect(await accessibilityFaults(page)).toEqual([]);
  }
});

it("says what an address lacks", async () => {
  await go("#/nonsense");
  expect(await page.locator("main").textContent()).toContain("There is no such page.");
});

it("had no trouble, and ran nothing that a name holds", async () => {
  if (target.mock) {
    await go("#/study/0/2");
    await page.locator(".legend-label", { hasText: HOSTILE_IMAGE }).first().waitFor();
  }
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  expect(await page.locator("img").count()).toBe(0);
  expect(watched.troubles).toEqual([]);
  const host = new URL(target.address).host;
  expect(watched.requests.filter((address) => new URL(address).host !== host)).toEqual([]);
});

it("fits a width of 380 pixels", async () => {
  await page.setViewportSize({ width: 380, height: 800 });
  for (const hash of ["#/", "#/study/0/1", "#/study/0/1/runs"]) {
    await go(hash);
    await page.waitForTimeout(300);
    expect(await page.evaluate(() => document.documentElement.scrollWidth), hash).toBeLessThanOrEqual(380);
  }
  await page.setViewportSize({ width: 1400, height: 900 });
});

it.skipIf(isReal)("says when the server is gone, and when it is back", async () => {
  await go("#/");
  await target.mock?.stop();
  await page.locator(".connection.lost").waitFor();
  await shoot(page, "dashboard-lost");
  await target.mock?.start();
  await page.locator(".connection.open").waitFor({ timeout: 20_000 });
});
