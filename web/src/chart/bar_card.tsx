// SPDX-License-Identifier: MIT
// Which option mattered, as bars: a table on the page, a drawing in files.
import { percent } from "../data/format";
import type { Importance } from "../data/importance";
import { Caption, SaveButtons } from "./chart_card";
import { filePaint, FONT } from "./paint";
import { scale } from "./scale";
import { Sheet, sheetHead, type Drawn } from "./sheet";
import { textWidth } from "./text";
import { CardHead } from "./card_head";

export interface BarFigure {
  title: string;
  subject: string;
  shares: Importance[];
}

const SHEET_WIDTH = 760;
const ROW = 28;
const THICK = 14;
const FONT_SIZE = 13;
const MARGIN = 24;
const AXIS = "share of the variance of ranks by loss that the option explains";

export function barSheet(figure: BarFigure): Drawn {
  const head = sheetHead([]);
  const rows = figure.shares.length * ROW;
  const size = { width: SHEET_WIDTH, height: head + rows + 40 };
  const widest = Math.max(0, ...figure.shares.map(({ option }) => textWidth(option, FONT_SIZE)));
  const left = MARGIN + Math.ceil(widest) + 12;
  const right = SHEET_WIDTH - MARGIN - 50;
  const x = scale([0, 1], [left, right], false);
  return {
    size,
    drawing: (
      <Sheet title={figure.title} subject={figure.subject} shown={[]} size={size}>
        <g transform={`translate(0,${head})`} font-family={FONT} font-size={FONT_SIZE} fill={filePaint.text}>
          {figure.shares.map(({ option, share }, at) => (
            <g key={option} transform={`translate(0,${at * ROW})`}>
              <text x={MARGIN} y="16" font-weight="600">
                {option}
              </text>
              <rect x={left} y="4" width={right - left} height={THICK} fill={filePaint.grid} />
              <rect
                class="bar"
                x={left}
                y="4"
                width={x(share ?? 0) - left}
                height={THICK}
                fill={filePaint.primary}
              />
              <text x={SHEET_WIDTH - MARGIN} y="16" text-anchor="end">
                {percent(share)}
              </text>
            </g>
          ))}
          <text x={(left + right) / 2} y={rows + 20} text-anchor="middle" font-size="12">
            {AXIS}
          </text>
        </g>
      </Sheet>
    ),
  };
}

export function BarCard({ figure, caption }: { figure: BarFigure; caption: string }) {
  return (
    <figure class="card wide" data-chart="importance">
      <CardHead title={figure.title}>
        <SaveButtons
          title={figure.title}
          name={`${figure.title} ${figure.subject}`}
          drawn={() => barSheet(figure)}
        />
      </CardHead>
      <table class="bars">
        <caption class="visually-hidden">Share of the variance of ranks that each option explains</caption>
        <tbody>
          {figure.shares.map(({ option, share }) => (
            <tr key={option}>
              <th scope="row">{option}</th>
              <td class="bar-cell">
                <div class="bar" style={{ width: `${(share ?? 0) * 100}%` }} />
              </td>
              <td class="number">{percent(share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Caption>{caption}</Caption>
    </figure>
  );
}
