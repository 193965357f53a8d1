// SPDX-License-Identifier: MIT
// The look of a series: its colour and its dash.
import { dashArray, screenPaint } from "../chart/paint";

export function Swatch({ colour, dash, width = 26 }: { colour: string; dash: number[]; width?: number }) {
  return (
    <svg class="swatch" width={width} height="10" viewBox={`0 0 ${width} 10`} aria-hidden="true">
      <line
        x1="1"
        x2={width - 1}
        y1="5"
        y2="5"
        stroke={screenPaint.series(colour)}
        stroke-width="3"
        stroke-dasharray={dashArray(dash)}
      />
    </svg>
  );
}
