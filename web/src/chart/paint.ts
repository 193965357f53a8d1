// SPDX-License-Identifier: MIT
// Colours of a chart: on the screen they follow the theme, in saved files they are fixed.

export interface Paint {
  page: string;
  text: string;
  soft: string;
  grid: string;
  axis: string;
  level: string;
  accent: string;
  primary: string;
  series: (colour: string) => string;
}

const BLACK = "#000000";

/** Only what a colour looks like may reach a style. */
function safe(colour: string): string {
  return /^#[0-9a-f]{6}$/i.test(colour) ? colour : "#808080";
}

export const screenPaint: Paint = {
  page: "var(--card)",
  text: "var(--text)",
  soft: "var(--soft)",
  grid: "var(--grid)",
  axis: "var(--axis)",
  level: "var(--level)",
  accent: "var(--accent)",
  primary: "var(--primary)",
  series: (colour) => (safe(colour) === BLACK ? "var(--series-black)" : safe(colour)),
};

export const filePaint: Paint = {
  page: "#ffffff",
  text: "#1b1f24",
  soft: "#4b5560",
  grid: "#e4e8ec",
  axis: "#6b7580",
  level: "#6b7580",
  accent: "#b3261e",
  primary: "#005a9e",
  series: safe,
};

export function dashArray(dash: number[]): string | undefined {
  const lengths = dash.filter((length) => Number.isFinite(length) && length >= 0);
  return lengths.length > 0 ? lengths.join(" ") : undefined;
}

export const FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
