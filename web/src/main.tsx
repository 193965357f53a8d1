// SPDX-License-Identifier: MIT
// Starts the page: a report where the page carries one, the dashboard otherwise.
import { render } from "preact";
import { DashboardPage } from "./dashboard/dashboard_page";
import { startLive } from "./dashboard/live";
import { startRouting } from "./dashboard/route";
import type { Report } from "./model";
import { ReportPage } from "./report/report_page";
import { meet } from "./state/settings";
import { startPrinting } from "./state/printing";
import { startTheme } from "./state/theme";
import "./styles/index.css";

function start(): void {
  const app = document.getElementById("app");
  if (!app) return;
  const data = document.getElementById("tandem-data");
  const report = data ? (JSON.parse(data.textContent ?? "") as Report) : null;
  startTheme();
  startPrinting();
  // What stands there is for readers without scripts.
  app.replaceChildren();
  if (report) {
    meet(report.studies);
    document.title = report.title;
    render(<ReportPage report={report} />, app);
    return;
  }
  startRouting();
  startLive();
  render(<DashboardPage />, app);
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
