// SPDX-License-Identifier: MIT
// Writes a report as the program does: data, styles and script in one file, under its security policy.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Report } from "../src/model";

export function bundleFolder(): string {
  return process.env["TANDEM_WEB_OUT"] ?? fileURLToPath(new URL("../dist", import.meta.url));
}

export function writeReport(path: string, report: Report): void {
  const script = readFileSync(join(bundleFolder(), "app.js"), "utf8");
  const style = readFileSync(join(bundleFolder(), "app.css"), "utf8");
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:`;
  const data = JSON.stringify(report).replace(/</g, "\\u003c");
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Tandem report</title>
<style>${style}</style>
</head>
<body>
<div id="app"><p>What readers without scripts see.</p></div>
<script type="application/json" id="tandem-data">${data}</script>
<script>${script}</script>
</body>
</html>
`;
  writeFileSync(path, page);
}
