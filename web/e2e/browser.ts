// SPDX-License-Identifier: MIT
// Chromium for the tests, and pages that note whatever goes wrong in them.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

export async function openBrowser(): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: isRoot ? ["--no-sandbox"] : [],
  });
}

export interface Watched {
  page: Page;
  /** Errors of the console and of scripts, refused loads, dialogues. */
  troubles: string[];
  /** Addresses that were asked for over a network. */
  requests: string[];
}

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: 1400, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const troubles: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("dialog", (dialog) => {
    troubles.push(`dialogue: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (/^(https?|wss?):/.test(request.url())) requests.push(request.url());
  });
  return { page, troubles, requests };
}

const folder = process.env["TANDEM_SHOTS"] ?? fileURLToPath(new URL("./shots", import.meta.url));

export function outputFolder(): string {
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** What axe finds against the rules of WCAG 2.1 AA, one line each. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const runner = (window as unknown as { axe: typeof axe }).axe;
    const { violations } = await runner.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    });
    return violations.flatMap((fault) =>
      fault.nodes.map((node) => `${fault.id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
    );
  });
}

/** Words of drawings that reach over the edge of their drawing. */
export async function cutOff(page: Page): Promise<string[]> {
  return page.locator(".chart > svg text").evaluateAll((words) =>
    words.flatMap((word) => {
      const box = word.getBoundingClientRect();
      const edge = word.closest("svg")?.getBoundingClientRect();
      if (!edge || box.width === 0) return [];
      const inside =
        box.left >= edge.left - 1 &&
        box.right <= edge.right + 1 &&
        box.top >= edge.top - 2 &&
        box.bottom <= edge.bottom + 2;
      return inside ? [] : `${word.textContent} (${box.left - edge.left}, ${edge.right - box.right})`;
    }),
  );
}

export async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(outputFolder(), `${name}.png`) });
}
