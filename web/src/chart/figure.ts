// SPDX-License-Identifier: MIT
// A chart as a value: series, axes and words.
import type { Curve } from "../data/series";

export interface Series {
  label: string;
  colour: string;
  dash: number[];
  curve: Curve;
}

export interface Level {
  value: number;
  label: string;
}

export interface LineFigure {
  /** Names the chart's zoom, which outlives a new set of data, and its saved files. */
  id: string;
  title: string;
  /** Of what: the task. */
  subject: string;
  xLabel: string;
  yLabel: string;
  xLog: boolean;
  /** Nothing lies between whole numbers: they alone are named. */
  xWhole?: boolean;
  yLog: boolean;
  series: Series[];
  levels: Level[];
  caption: string;
  /** With more series than this, bands would hide each other. */
  bandsUpTo?: number;
  /** "epoch 5": where the crosshair is. */
  place: (x: number) => string;
}
