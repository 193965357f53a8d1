// SPDX-License-Identifier: MIT
// The program itself: the report file that it writes, and its dashboard while a study runs in another process.
// Needs TANDEM_PROGRAM, the path of the program.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBrowser, openPage, shoot, type Watched } from "./browser";
import { HOSTILE_IMAGE, HOSTILE_SCRIPT } from "./sample";

const program = process.env["TANDEM_PROGRAM"] ?? "";

/** A study of one small task; the names of optimizers look like markup. */
function studyFile(name: string, epochs: number): string {
  return `name = ${JSON.stringify(name)}
epochs = ${epochs}
seeds = [1, 2, 3]
diagnose = true
[[task]]
data = "synthetic:rows=2000,features=20,noise=0.1"
lambda = 0.01
[[optimizer]]
name = "adam"
baseline = true
lr = [1e-3, 1e-2]
[[optimizer]]
name = "diag-to"
label = ${JSON.stringify(HOSTILE_IMAGE)}
lr = [0.01, 0.1]
alpha = [0, 0.01]
beta = [0.1, 0.5]
`;
}

describe.skipIf(!program)("the program", () => {
  let folder: string;
  let store: string;
  let browser: Browser;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "tandem-e2e-"));
    store = join(folder, "runs.db");
    writeFileSync(join(folder, "small.toml"), studyFile(HOSTILE_SCRIPT, 5));
    execFileSync(program, ["study", join(folder, "small.toml"), "--store", store, "-q"], { stdio: "ignore" });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });

  describe("its report", () => {
    let watched: Watched;
    beforeAll(async () => {
      const file = join(folder, "report.html");
      execFileSync(program, ["report", "--store", store, "--html", file, "-q"], { stdio: "ignore" });
      watched = await openPage(browser);
      await watched.page.goto(pathToFileURL(file).href);
    });

    it("shows the study, its estimators and its grid", async () => {
      const { page } = watched;
      expect(await page.locator("h1").textContent()).toBe(HOSTILE_SCRIPT);
      expect(await page.locator(".legend-toggle").allTextContents()).toContain(HOSTILE_IMAGE);
      // Figures are drawn when they come near.
      for (const section of ["Curves", "At equal cost", "Settings"]) {
        await page.locator("h4", { hasText: section }).scrollIntoViewIfNeeded();
        await page.waitForTimeout(300);
      }
      const titles = (await page.locator("h5").allTextContents()).join("; ");
      for (const title of [
        "Training loss",
        "Gap to the optimum",
        "Variance ratio",
        "Residual",
        "Best loss of",
      ]) {
        expect(titles).toContain(title);
      }
      await shoot(page, "program-report");
    });

    it("saves a figure", async () => {
      const { page } = watched;
      const card = page.locator("figure.card").first();
      await card.scrollIntoViewIfNeeded();
      const download = page.waitForEvent("download");
      await card.getByRole("button", { name: "SVG" }).click();
      const path = await (await download).path();
      const svg = readFileSync(path, "utf8");
      expect(svg).toMatch(/^<svg|^<\?xml/);
      expect(svg).not.toContain("<img");
    });

    it("loads nothing and runs nothing of its names", async () => {
      expect(watched.troubles).toEqual([]);
      expect(watched.requests).toEqual([]);
      expect(await watched.page.locator("img").count()).toBe(0);
    });
  });

  describe("its dashboard", () => {
    let server: ChildProcess;
    let study: ChildProcess;
    let address: string;
    let watched: Watched;

    beforeAll(async () => {
      server = spawn(program, ["serve", "--store", store, "--port", "0", "--json"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      address = await new Promise<string>((resolve, reject) => {
        server.stdout?.once("data", (line: Buffer) => resolve(JSON.parse(line.toString()).address));
        server.once("exit", (code) => reject(new Error(`tandem serve ended with ${code}`)));
      });
      watched = await openPage(browser);
      await watched.page.goto(address);
      await watched.page.locator(".study-item").first().waitFor();
    });
    afterAll(() => {
      study?.kill("SIGKILL");
      server.kill();
    });

    it("follows a study that starts, works and is killed", async () => {
      const { page } = watched;
      writeFileSync(join(folder, "long.toml"), studyFile("long", 20_000));
      study = spawn(program, ["study", join(folder, "long.toml"), "--store", store, "-q"], {
        stdio: "ignore",
      });
      const item = page.locator(".study-item", { hasText: "long" });
      await item.locator("[data-points]").first().waitFor({ timeout: 40_000 });
      const epoch = async () => Number(/epoch (\d+) of/.exec((await item.textContent()) ?? "")?.[1]);
      const before = await epoch();
      await expect.poll(epoch, { timeout: 30_000 }).toBeGreaterThan(before);
      expect(await item.textContent()).toContain("running");
      await shoot(page, "program-dashboard");
      study.kill("SIGKILL");
      await expect.poll(() => item.textContent(), { timeout: 30_000 }).toContain("stopped");
    });

    it("shows a finished study, its runs, and how to train one again", async () => {
      const { page } = watched;
      await page.locator(".study-item", { hasText: HOSTILE_SCRIPT }).locator("h3 a").click();
      await page.locator(".task").first().waitFor();
      await page.getByRole("link", { name: "Runs" }).click();
      await page.locator("table.runs tbody tr a").first().click();
      const command = page.locator(".command code");
      await command.waitFor();
      const words = (await command.textContent()) ?? "";
      expect(words).toMatch(/^tandem train --data synthetic:rows=2000,features=20,noise=0.1 /);
      execFileSync(program, [...words.split(" ").slice(1), "-q"], { stdio: "ignore" });
    });

    it("answers nobody who asks under another name", async () => {
      const { port } = new URL(address);
      const answer = await fetch(`http://127.0.0.1:${port}/api/overview`, { method: "POST" });
      expect(answer.status).toBe(405);
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    });

    it("had no trouble", async () => {
      expect(watched.troubles).toEqual([]);
      expect(await watched.page.locator("img").count()).toBe(0);
      expect(watched.requests.every((request) => request.startsWith(address))).toBe(true);
    });
  });
});
