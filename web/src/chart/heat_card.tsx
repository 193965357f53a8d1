// SPDX-License-Identifier: MIT
// A heat map on the page, with its buttons and its values as a table.
import { useSignal } from "@preact/signals";
import { Caption, SaveButtons } from "./chart_card";
import { cellText, Heat, heatSize, type HeatFigure } from "./heat_map";
import { useWidth } from "./measure";
import { filePaint, screenPaint } from "./paint";
import { Sheet, sheetHead, type Drawn } from "./sheet";
import { CardHead } from "./card_head";

function heatSheet(figure: HeatFigure): Drawn {
  const head = sheetHead([]);
  const width = 760;
  const size = { width, height: head + heatSize(figure.map, width).height };
  return {
    size,
    drawing: (
      <Sheet title={figure.title} subject={figure.subject} shown={[]} size={size}>
        <g transform={`translate(0,${head})`}>
          <Heat figure={figure} width={width - 8} paint={filePaint} />
        </g>
      </Sheet>
    ),
  };
}

export function HeatCard({ figure, caption }: { figure: HeatFigure; caption: string }) {
  const [holder, width] = useWidth<HTMLDivElement>(560);
  const open = useSignal(false);
  const size = heatSize(figure.map, width);
  return (
    <figure class="card" data-chart={`heat-${figure.kind}`}>
      <CardHead title={figure.title}>
        <SaveButtons
          title={figure.title}
          name={`${figure.title} ${figure.subject}`}
          drawn={() => heatSheet(figure)}
        />
        <button type="button" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
          Data
        </button>
      </CardHead>
      <div class="chart" ref={holder}>
        <svg
          viewBox={`0 0 ${size.width} ${size.height}`}
          width={size.width}
          height={size.height}
          role="img"
          aria-label={`${figure.title}, ${figure.subject}. The button Data has the values.`}
        >
          <Heat figure={figure} width={width} paint={screenPaint} />
        </svg>
      </div>
      <Caption>{caption}</Caption>
      {open.value && <HeatTable figure={figure} />}
    </figure>
  );
}

function HeatTable({ figure }: { figure: HeatFigure }) {
  const { map, kind } = figure;
  return (
    <div class="table-scroll data-table" tabIndex={0} role="group" aria-label={`Values of ${figure.title}`}>
      <table>
        <caption>
          {map.yOption ?? "all"} down, {map.xOption} across; × diverged
        </caption>
        <thead>
          <tr>
            <th scope="col">{map.yOption ?? ""}</th>
            {map.xValues.map((value) => (
              <th scope="col" key={value}>
                {value}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {map.yValues.map((value, y) => (
            <tr key={value}>
              <th scope="row">{value}</th>
              {map.xValues.map((name, x) => {
                const cell = map.cells[y * map.xValues.length + x];
                return <td key={name}>{cell && cellText(cell, kind)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
