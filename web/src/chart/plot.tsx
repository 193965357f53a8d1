// SPDX-License-Identifier: MIT
// The drawing of a line chart: axes, levels, bands, lines. The same on the screen and in files.
import { useId } from "preact/hooks";
import type { LineFigure, Series } from "./figure";
import { dashArray, FONT, type Paint } from "./paint";
import { bandPath, linePath } from "./path";
import { scale, type Range, type Scale } from "./scale";
import { textWidth } from "./text";
import { ticks, type Tick } from "./ticks";
import type { View } from "./view";

export interface Size {
  width: number;
  height: number;
}

export interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
  x: Scale;
  y: Scale;
  xTicks: Tick[];
  yTicks: Tick[];
}

const FONT_SIZE = 12;
/** What the title of the y axis takes, and the gap between labels and axis. */
const TITLE = 22;
const GAP = 7;

function tickCount([from, to]: Range, room: number): number {
  return Math.max(3, Math.floor(Math.abs(to - from) / room));
}

/** The right end of the x axis at which its last label is not cut off. */
function rightEnd(width: number, left: number, x: Scale, xTicks: Tick[]): number {
  const right = x.range()[1] as number;
  const last = xTicks.filter(({ label }) => label !== "").pop();
  if (!last) return right;
  const at = x(last.value);
  const over = at + textWidth(last.label, FONT_SIZE) / 2 - width;
  // The tick moves by its part of the axis only.
  return over > 0 && at > left ? right - (over * (right - left)) / (at - left) : right;
}

/** Where the axes are: labels have room however long they are. */
export function frameOf(size: Size, view: View, figure: Pick<LineFigure, "xLog" | "yLog" | "xWhole">): Frame {
  const top = 10;
  const bottom = size.height - 44;
  const y = scale(view.y, [bottom, top], figure.yLog);
  const yTicks = ticks(y, tickCount([bottom, top], 48));
  const widest = Math.max(0, ...yTicks.map(({ label }) => textWidth(label, FONT_SIZE)));
  const left = Math.max(64, Math.ceil(TITLE + widest + GAP));
  const wide: Range = [left, size.width - 14];
  const x = scale(view.x, wide, figure.xLog);
  const xTicks = ticks(x, tickCount(wide, 80)).filter(
    ({ value }) => !figure.xWhole || Number.isInteger(value),
  );
  const right = rightEnd(size.width, left, x, xTicks);
  return { left, right, top, bottom, x: x.range([left, right]), y, xTicks, yTicks };
}

interface PlotProps {
  figure: LineFigure;
  shown: Series[];
  frame: Frame;
  band: boolean;
  paint: Paint;
}

export function Plot({ figure, shown, frame, band, paint }: PlotProps) {
  const clip = `clip${useId()}`;
  const { left, right, top, bottom, x, y } = frame;
  return (
    <g font-family={FONT} font-size={FONT_SIZE}>
      <clipPath id={clip}>
        <rect x={left} y={top} width={right - left} height={bottom - top} />
      </clipPath>
      <Axes figure={figure} frame={frame} paint={paint} />
      <g clip-path={`url(#${clip})`} fill="none">
        {figure.levels.map((level) => (
          <line
            key={level.label}
            x1={left}
            x2={right}
            y1={y(level.value)}
            y2={y(level.value)}
            stroke={paint.level}
            stroke-width="1.2"
            stroke-dasharray="5 4"
          />
        ))}
        {band &&
          shown.map((series) => (
            <path
              key={series.label}
              d={bandPath(series.curve, x, y)}
              fill={paint.series(series.colour)}
              fill-opacity="0.14"
              stroke="none"
            />
          ))}
        {shown.map((series) => (
          <path
            key={series.label}
            class="curve"
            d={linePath(series.curve, x, y)}
            stroke={paint.series(series.colour)}
            stroke-width={series.curve.x.length === 1 ? 7 : 2}
            // A dot has no length to dash: browsers would leave it out.
            stroke-dasharray={series.curve.x.length === 1 ? undefined : dashArray(series.dash)}
            stroke-linecap={series.dash.length > 0 && series.curve.x.length > 1 ? "butt" : "round"}
            stroke-linejoin="round"
          />
        ))}
      </g>
      {figure.levels.map((level) => {
        const at = y(level.value);
        return (
          at > top &&
          at < bottom && (
            <text
              key={level.label}
              x={right - 4}
              y={at - 5}
              fill={paint.soft}
              font-size="11"
              text-anchor="end"
            >
              {level.label}
            </text>
          )
        );
      })}
    </g>
  );
}

function Axes({ figure, frame, paint }: { figure: LineFigure; frame: Frame; paint: Paint }) {
  const { left, right, top, bottom, x, y, xTicks, yTicks } = frame;
  return (
    <g>
      {yTicks.map((tick) => (
        <line
          key={tick.value}
          x1={left}
          x2={right}
          y1={y(tick.value)}
          y2={y(tick.value)}
          stroke={paint.grid}
          stroke-opacity={tick.label ? 1 : 0.5}
        />
      ))}
      {xTicks.map((tick) => (
        <line
          key={tick.value}
          x1={x(tick.value)}
          x2={x(tick.value)}
          y1={bottom}
          y2={bottom + (tick.label ? 5 : 3)}
          stroke={paint.axis}
        />
      ))}
      <path d={`M${left},${top}V${bottom}H${right}`} fill="none" stroke={paint.axis} />
      {xTicks.map((tick) => (
        <text key={tick.value} x={x(tick.value)} y={bottom + 18} fill={paint.soft} text-anchor="middle">
          {tick.label}
        </text>
      ))}
      {yTicks.map((tick) => (
        <text key={tick.value} x={left - GAP} y={y(tick.value) + 4} fill={paint.soft} text-anchor="end">
          {tick.label}
        </text>
      ))}
      <text x={(left + right) / 2} y={bottom + 37} fill={paint.text} text-anchor="middle">
        {figure.xLabel}
      </text>
      <text
        transform={`translate(13,${(top + bottom) / 2}) rotate(-90)`}
        fill={paint.text}
        text-anchor="middle"
      >
        {figure.yLabel}
      </text>
    </g>
  );
}
