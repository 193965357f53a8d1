// SPDX-License-Identifier: MIT
// A heat map over two options of a grid: the drawing, the same on the screen and in files.
import { useId } from "preact/hooks";
import { number, percent } from "../data/format";
import type { Cell, HeatMap } from "../data/grid";
import { FONT, type Paint } from "./paint";
import { ramp, warning, type Shade } from "./ramp";
import { scale } from "./scale";

export type HeatKind = "loss" | "diverged";

export interface HeatFigure {
  kind: HeatKind;
  title: string;
  subject: string;
  map: HeatMap;
  /** F*, where it is known: the gap to it decides the colour. */
  optimum: number | null;
  /** Places of the chosen values. */
  chosen: { x: number; y: number } | null;
}

const LEFT = 84;
const TOP = 8;
const KEY = 38;

export function heatSize(map: HeatMap, width: number): { width: number; height: number; cell: number } {
  const cell = Math.min(46, Math.max(26, 260 / Math.max(1, map.yValues.length)));
  return { width, height: TOP + cell * map.yValues.length + 46 + KEY, cell };
}

/** Where a loss lies between the best and the worst, by the logarithm of its gap where one is known. */
export function lossPart(map: HeatMap, optimum: number | null): (loss: number) => number {
  const losses = map.cells.flatMap(({ best }) => (best === null ? [] : [best]));
  const low = Math.min(...losses);
  const high = Math.max(...losses);
  if (!(high > low)) return () => 0;
  const base = optimum !== null && optimum < low ? optimum : low > 0 && high / low > 10 ? 0 : null;
  if (base === null) return scale([low, high], [0, 1], false);
  const part = scale([low - base, high - base], [0, 1], true);
  return (loss) => part(loss - base);
}

export function cellText(cell: Cell, kind: HeatKind): string {
  if (kind === "diverged") return percent(cell.settings > 0 ? cell.diverged / cell.settings : null);
  if (cell.best !== null) return number(cell.best, 3);
  if (cell.settings === 0) return "";
  return cell.diverged === cell.settings ? "×" : "–";
}

interface HeatProps {
  figure: HeatFigure;
  width: number;
  paint: Paint;
}

export function Heat({ figure, width, paint }: HeatProps) {
  const { map, kind, chosen } = figure;
  const { cell: tall } = heatSize(map, width);
  const wide = (width - LEFT - 12) / Math.max(1, map.xValues.length);
  const hatch = `hatch${useId()}`;
  const part = lossPart(map, figure.optimum);
  const shadeOf = (cell: Cell): Shade | null => {
    if (cell.settings === 0) return null;
    if (kind === "diverged") return warning(cell.diverged / cell.settings);
    return cell.best === null ? null : ramp(1 - part(cell.best));
  };
  // The first row of values is drawn at the bottom, as on any axis that rises.
  const rowTop = (y: number) => TOP + (map.yValues.length - 1 - y) * tall;
  const bottom = TOP + map.yValues.length * tall;
  return (
    <g font-family={FONT} font-size="12">
      <pattern id={hatch} width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="7" height="7" fill={paint.page} />
        <line y2="7" stroke={paint.axis} stroke-width="2.4" />
      </pattern>
      {map.cells.map((cell) => {
        const shade = shadeOf(cell);
        const text = cellText(cell, kind);
        const x = LEFT + cell.x * wide;
        const y = rowTop(cell.y);
        return (
          <g key={`${cell.x} ${cell.y}`} class="heat-cell">
            <title>{cellTitle(map, cell)}</title>
            <rect
              x={x + 0.5}
              y={y + 0.5}
              width={wide - 1}
              height={tall - 1}
              fill={shade ? shade.fill : cell.settings === 0 ? "none" : `url(#${hatch})`}
            />
            {shade && wide > 26 && (
              <text
                x={x + wide / 2}
                y={y + tall / 2 + 4}
                font-size={wide < 44 ? 9.5 : 11.5}
                text-anchor="middle"
                fill={shade.ink}
              >
                {text}
              </text>
            )}
            {!shade && text !== "" && (
              <g>
                <circle cx={x + wide / 2} cy={y + tall / 2} r="9" fill={paint.page} />
                <text
                  x={x + wide / 2}
                  y={y + tall / 2 + 5}
                  font-size="15"
                  text-anchor="middle"
                  fill={paint.text}
                >
                  {text}
                </text>
              </g>
            )}
          </g>
        );
      })}
      {chosen && (
        <rect
          x={LEFT + chosen.x * wide + 1.5}
          y={rowTop(chosen.y) + 1.5}
          width={wide - 3}
          height={tall - 3}
          fill="none"
          stroke={paint.accent}
          stroke-width="3"
        />
      )}
      {map.xValues.map((value, at) => (
        <text
          key={value}
          x={LEFT + (at + 0.5) * wide}
          y={bottom + 16}
          font-size={wide < 40 ? 10 : 12}
          text-anchor="middle"
          fill={paint.soft}
        >
          {value}
        </text>
      ))}
      {map.yValues.map((value, at) => (
        <text key={value} x={LEFT - 7} y={rowTop(at) + tall / 2 + 4} text-anchor="end" fill={paint.soft}>
          {value}
        </text>
      ))}
      <text x={(LEFT + width - 12) / 2} y={bottom + 36} text-anchor="middle" fill={paint.text}>
        {map.xOption}
      </text>
      {map.yOption !== null && (
        <text
          transform={`translate(14,${(TOP + bottom) / 2}) rotate(-90)`}
          text-anchor="middle"
          fill={paint.text}
        >
          {map.yOption}
        </text>
      )}
      <ColourKey
        figure={figure}
        x={LEFT}
        y={bottom + 52}
        width={Math.min(300, width - LEFT - 12)}
        paint={paint}
      />
    </g>
  );
}

function cellTitle(map: HeatMap, cell: Cell): string {
  const where = [`${map.xOption} ${map.xValues[cell.x]}`];
  if (map.yOption !== null) where.push(`${map.yOption} ${map.yValues[cell.y]}`);
  const best = cell.best === null ? "none finished" : `best loss ${number(cell.best, 6)}`;
  return `${where.join(", ")}: ${best}; ${cell.diverged} of ${cell.settings} settings diverged`;
}

interface KeyProps {
  figure: HeatFigure;
  x: number;
  y: number;
  width: number;
  paint: Paint;
}

/** What the colours mean. */
function ColourKey({ figure, x, y, width, paint }: KeyProps) {
  const steps = 24;
  const losses = figure.map.cells.flatMap(({ best }) => (best === null ? [] : [best]));
  const loss = figure.kind === "loss";
  const [left, right] = loss
    ? losses.length > 0
      ? [`best ${number(Math.min(...losses), 4)}`, `worst ${number(Math.max(...losses), 4)}`]
      : ["", ""]
    : ["0 % diverged", "100 %"];
  return (
    <g font-size="11">
      {Array.from({ length: steps }, (_, at) => (
        <rect
          key={at}
          x={x + (at * width) / steps}
          y={y}
          width={width / steps + 0.5}
          height="10"
          fill={(loss ? ramp(1 - at / (steps - 1)) : warning(at / (steps - 1))).fill}
        />
      ))}
      <text x={x} y={y + 25} fill={paint.soft}>
        {left}
      </text>
      <text x={x + width} y={y + 25} text-anchor="end" fill={paint.soft}>
        {right}
      </text>
    </g>
  );
}
