// SPDX-License-Identifier: MIT
// Losses of all settings by the value of one option: a dot each, and the median. The same on the screen and
// in files.
import { median } from "d3-array";
import { scaleBand } from "d3-scale";
import type { ValueGroup } from "../data/grid";
import { FONT, type Paint } from "./paint";
import { padded, scale, type Range, type Scale } from "./scale";
import { textWidth } from "./text";
import { ticks } from "./ticks";

export interface Strip {
  option: string;
  groups: ValueGroup[];
  chosen: string | undefined;
}

export interface StripFigure {
  title: string;
  subject: string;
  strips: Strip[];
  /** Extent of the losses of the whole grid, so that the options compare. */
  extent: Range;
  log: boolean;
}

interface StripProps {
  figure: StripFigure;
  strip: Strip;
  width: number;
  paint: Paint;
}

export const STRIP_HEIGHT = 210;
const TOP = 8;
const BOTTOM = STRIP_HEIGHT - 52;
const RIGHT = 8;
const FONT_SIZE = 11;

/** A spread that looks random and is the same each time. */
function jitter(at: number): number {
  return ((at * 0.618034) % 1) - 0.5;
}

export function StripPlot({ figure, strip, width, paint }: StripProps) {
  const y = scale(padded(...figure.extent, figure.log), [BOTTOM, TOP], figure.log);
  const yTicks = ticks(y, 4);
  const widest = Math.max(0, ...yTicks.map(({ label }) => textWidth(label, FONT_SIZE)));
  const left = Math.max(40, Math.ceil(widest) + 8);
  const values = strip.groups.map(({ value }) => value);
  const x = scaleBand(values, [left, width - RIGHT]);
  // Values that would run into each other are written smaller.
  const tight = values.some((value) => textWidth(value, FONT_SIZE) > x.step());
  return (
    <g font-family={FONT} font-size={FONT_SIZE}>
      {yTicks.map((tick) => (
        <g key={tick.value}>
          <line
            x1={left}
            x2={width - RIGHT}
            y1={y(tick.value)}
            y2={y(tick.value)}
            stroke={paint.grid}
            stroke-opacity={tick.label ? 1 : 0.4}
          />
          <text x={left - 6} y={y(tick.value) + 4} text-anchor="end" fill={paint.soft}>
            {tick.label}
          </text>
        </g>
      ))}
      {strip.groups.map((group) => (
        <Group
          key={group.value}
          group={group}
          left={x(group.value) ?? left}
          step={x.step()}
          y={y}
          isChosen={group.value === strip.chosen}
          tight={tight}
          paint={paint}
        />
      ))}
      <text x={(left + width - RIGHT) / 2} y={STRIP_HEIGHT - 5} text-anchor="middle" fill={paint.text}>
        {strip.option}
      </text>
    </g>
  );
}

interface GroupProps {
  group: ValueGroup;
  left: number;
  step: number;
  y: Scale;
  isChosen: boolean;
  tight: boolean;
  paint: Paint;
}

function Group({ group, left, step, y, isChosen, tight, paint }: GroupProps) {
  const middle = left + step / 2;
  const half = Math.min(step * 0.36, 26);
  const centre = median(group.losses);
  const dots = group.losses
    .map((loss, at) => `M${(middle + jitter(at) * 2 * half).toFixed(1)},${y(loss).toFixed(1)}h0`)
    .join("");
  return (
    <g>
      {isChosen && (
        <rect
          x={left + 1}
          y="2"
          width={step - 2}
          height={BOTTOM + 35}
          rx="4"
          fill={paint.accent}
          fill-opacity="0.1"
          stroke={paint.accent}
          stroke-width="1.5"
        />
      )}
      <path
        d={dots}
        fill="none"
        stroke={paint.primary}
        stroke-opacity="0.35"
        stroke-width="4"
        stroke-linecap="round"
      />
      {centre !== undefined && (
        <line
          x1={middle - half}
          x2={middle + half}
          y1={y(centre)}
          y2={y(centre)}
          stroke={paint.text}
          stroke-width="2"
        />
      )}
      <text
        x={middle}
        y={BOTTOM + 15}
        text-anchor="middle"
        font-size={tight ? 9 : FONT_SIZE}
        fill={paint.text}
        font-weight={isChosen ? 700 : 400}
      >
        {group.value}
      </text>
      {group.diverged > 0 && (
        <text x={middle} y={BOTTOM + 31} text-anchor="middle" font-size={tight ? 9 : 10} fill={paint.soft}>
          ×{group.diverged}
        </text>
      )}
    </g>
  );
}
