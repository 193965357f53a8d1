// SPDX-License-Identifier: MIT
// The 95 % interval of one rho on an axis that all rows of a table share.
import { thousandths } from "../data/format";
import type { Row } from "../model";
import { screenPaint } from "./paint";
import { scale, type Range } from "./scale";

/** An extent that holds zero and all intervals. */
export function intervalExtent(rows: (Row | null)[]): Range {
  let low = 0;
  let high = 0;
  for (const row of rows) {
    for (const value of [row?.rho, row?.interval?.[0], row?.interval?.[1]]) {
      if (value === null || value === undefined || !Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  const room = (high - low) * 0.05 || 1e-3;
  return [low - room, high + room];
}

export function intervalText(row: Row): string {
  const [low, high] = row.interval ?? [null, null];
  if (low === null || high === null) return "–";
  return `${thousandths(low)} … ${thousandths(high)}`;
}

interface IntervalProps {
  row: Row;
  extent: Range;
  colour: string;
}

const WIDTH = 128;
const HEIGHT = 16;

export function IntervalPlot({ row, extent, colour }: IntervalProps) {
  if (row.rho === null) return null;
  const at = scale(extent, [4, WIDTH - 4], false);
  const [low, high] = row.interval ?? [null, null];
  const middle = HEIGHT / 2;
  return (
    <svg class="interval" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <line x1={at(0)} x2={at(0)} y2={HEIGHT} stroke={screenPaint.level} stroke-dasharray="2 2" />
      {low !== null && high !== null && (
        <path
          d={`M${at(low)},${middle - 4}v8m0-4H${at(high)}m0-4v8`}
          fill="none"
          stroke={screenPaint.series(colour)}
          stroke-width="2"
        />
      )}
      <circle cx={at(row.rho)} cy={middle} r="4" fill={screenPaint.series(colour)} />
    </svg>
  );
}
