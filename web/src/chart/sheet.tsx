// SPDX-License-Identifier: MIT
// A saved figure: title, legend and drawing on white, with nothing that points outside the file.
import type { ComponentChildren } from "preact";
import type { LineFigure, Series } from "./figure";
import { dashArray, filePaint, FONT } from "./paint";
import { frameOf, Plot, type Size } from "./plot";
import { textWidth } from "./text";
import { viewOf, type Zoom } from "./view";

const WIDTH = 880;
const PLOT_HEIGHT = 460;
const ROW = 22;

interface Place {
  x: number;
  y: number;
  series: Series;
}

/** Legend entries in rows, by a guess of how wide text is. */
function legendPlaces(shown: Series[]): { places: Place[]; rows: number } {
  const places: Place[] = [];
  let x = 24;
  let row = 0;
  for (const series of shown) {
    const width = 60 + textWidth(series.label, 13);
    if (x + width > WIDTH - 16 && x > 24) {
      x = 24;
      row += 1;
    }
    places.push({ x, y: row * ROW, series });
    x += width;
  }
  return { places, rows: shown.length > 0 ? row + 1 : 0 };
}

export function sheetHead(shown: Series[]): number {
  return 62 + legendPlaces(shown).rows * ROW;
}

interface SheetProps {
  title: string;
  subject: string;
  shown: Series[];
  size: Size;
  children: ComponentChildren;
}

export function Sheet({ title, subject, shown, size, children }: SheetProps) {
  return (
    <svg
      width={size.width}
      height={size.height}
      viewBox={`0 0 ${size.width} ${size.height}`}
      font-family={FONT}
    >
      <title>{`${title}: ${subject}`}</title>
      <rect width={size.width} height={size.height} fill={filePaint.page} />
      <text x="24" y="30" font-size="18" font-weight="600" fill={filePaint.text}>
        {title}
      </text>
      <text x="24" y="50" font-size="13" fill={filePaint.soft}>
        {subject}
      </text>
      {legendPlaces(shown).places.map(({ x, y, series }) => (
        <g key={series.label} transform={`translate(${x},${y + 72})`}>
          <line
            x2="28"
            stroke={filePaint.series(series.colour)}
            stroke-width="2.5"
            stroke-dasharray={dashArray(series.dash)}
          />
          <text x="35" y="4" font-size="13" fill={filePaint.text}>
            {series.label}
          </text>
        </g>
      ))}
      {children}
    </svg>
  );
}

export interface Drawn {
  size: Size;
  drawing: ReturnType<typeof Sheet>;
}

export function lineSheet(figure: LineFigure, shown: Series[], zoom: Zoom, band: boolean): Drawn {
  const head = sheetHead(shown);
  const size = { width: WIDTH, height: head + PLOT_HEIGHT };
  const view = viewOf(figure, shown, zoom, band);
  const plot = { width: WIDTH - 8, height: PLOT_HEIGHT - 8 };
  return {
    size,
    drawing: (
      <Sheet title={figure.title} subject={figure.subject} shown={shown} size={size}>
        <g transform={`translate(4,${head})`}>
          {view && (
            <Plot
              figure={figure}
              shown={shown}
              frame={frameOf(plot, view, figure)}
              band={band}
              paint={filePaint}
            />
          )}
        </g>
      </Sheet>
    ),
  };
}
