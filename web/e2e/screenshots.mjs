// SPDX-License-Identifier: MIT
// Takes the pictures of docs/images; scripts/screenshots calls it.
//   node web/e2e/screenshots.mjs REPORT_FILE DASHBOARD_ADDRESS FOLDER
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report, dashboard, folder] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});

async function open(address, colorScheme) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme });
  await page.goto(address);
  return page;
}

async function show(page, heading, file) {
  await page.locator("h4", { hasText: heading }).first().scrollIntoViewIfNeeded();
  await page.waitForTimeout(500);
  await page.evaluate((text) => {
    const found = [...document.querySelectorAll("h4")].find((one) => one.textContent.includes(text));
    const bar = document.querySelector(".toolbar")?.getBoundingClientRect().height ?? 0;
    window.scrollTo(0, found.getBoundingClientRect().top + window.scrollY - bar - 12);
  }, heading);
  await page.waitForTimeout(1000);
  await page.screenshot({ path: join(folder, file) });
}

const light = await open(pathToFileURL(report).href, "light");
await light.waitForTimeout(1000);
await light.screenshot({ path: join(folder, "report.png") });
await show(light, "Curves", "report-curves.png");
await show(light, "Settings", "report-settings.png");
const dark = await open(pathToFileURL(report).href, "dark");
await show(dark, "Curves", "report-dark.png");

const live = await open(dashboard, "light");
// Some epochs of a population, so that there is a curve and a time that is left.
await live.locator("[data-points]").first().waitFor({ timeout: 120_000 });
await live.waitForTimeout(30_000);
await live.screenshot({ path: join(folder, "dashboard.png") });
await browser.close();
