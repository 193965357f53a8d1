// SPDX-License-Identifier: MIT
// What the tests look at: the sample, or what the environment names.
//   TANDEM_REPORT_HTML    a report file
//   TANDEM_PROGRAM        the program; with TANDEM_STORE, a store, it writes the report file
//   TANDEM_DASHBOARD_URL  the address of a server that runs
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { outputFolder } from "./browser";
import { startMock, type MockServer } from "./mock_server";
import { writeReport } from "./report_file";
import { bareReport, longReport, sampleReport } from "./sample";

export interface ReportTarget {
  address: string;
  /** The sample has known names and hostile ones; a real report has its own. */
  isSample: boolean;
}

export function reportTarget(): ReportTarget {
  const given = process.env["TANDEM_REPORT_HTML"];
  if (given) return { address: pathToFileURL(given).href, isSample: false };
  const path = join(outputFolder(), "report.html");
  const program = process.env["TANDEM_PROGRAM"];
  const store = process.env["TANDEM_STORE"];
  if (program && store) {
    execFileSync(program, ["report", "--store", store, "--html", path]);
    return { address: pathToFileURL(path).href, isSample: false };
  }
  writeReport(path, sampleReport());
  return { address: pathToFileURL(path).href, isSample: true };
}

/** Samples that no store has. */
export function madeUp(name: "long" | "bare" | "empty"): string {
  const path = join(outputFolder(), `${name}.html`);
  const report = name === "long" ? longReport() : bareReport();
  writeReport(path, name === "empty" ? { ...report, studies: [] } : report);
  return pathToFileURL(path).href;
}

export interface DashboardTarget {
  address: string;
  /** Only the mock can be moved on and stopped by a test. */
  mock: MockServer | null;
}

export async function dashboardTarget(): Promise<DashboardTarget> {
  const given = process.env["TANDEM_DASHBOARD_URL"];
  if (given) return { address: given, mock: null };
  const mock = await startMock();
  return { address: mock.address, mock };
}
