// SPDX-License-Identifier: MIT
// Strip plots of all options of a grid on the page, and as one file.
import { median } from "d3-array";
import { number } from "../data/format";
import { Caption, SaveButtons } from "./chart_card";
import { useWidth } from "./measure";
import { filePaint, screenPaint } from "./paint";
import { Sheet, sheetHead, type Drawn } from "./sheet";
import { STRIP_HEIGHT, StripPlot, type Strip, type StripFigure } from "./strip_plot";
import { CardHead } from "./card_head";

const SHEET_WIDTH = 880;
const MARGIN = 16;
const GAP = 14;

/** All strips in rows of two, since they share their axis of losses. */
export function stripSheet(figure: StripFigure): Drawn {
  const head = sheetHead([]);
  const columns = Math.min(2, figure.strips.length);
  const width = (SHEET_WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns;
  const rows = Math.ceil(figure.strips.length / columns);
  const size = { width: SHEET_WIDTH, height: head + rows * (STRIP_HEIGHT + GAP) };
  return {
    size,
    drawing: (
      <Sheet title={figure.title} subject={figure.subject} shown={[]} size={size}>
        {figure.strips.map((strip, at) => {
          const x = MARGIN + (at % columns) * (width + GAP);
          const y = head + Math.floor(at / columns) * (STRIP_HEIGHT + GAP);
          return (
            <g key={strip.option} transform={`translate(${x},${y})`}>
              <StripPlot figure={figure} strip={strip} width={width} paint={filePaint} />
            </g>
          );
        })}
      </Sheet>
    ),
  };
}

export function StripCard({ figure, caption }: { figure: StripFigure; caption: string }) {
  return (
    <figure class="card wide" data-chart="strips">
      <CardHead title={figure.title}>
        <SaveButtons
          title={figure.title}
          name={`${figure.title} ${figure.subject}`}
          drawn={() => stripSheet(figure)}
        />
      </CardHead>
      <div class="strips">
        {figure.strips.map((strip) => (
          <ScreenStrip key={strip.option} figure={figure} strip={strip} />
        ))}
      </div>
      <Caption>{caption}</Caption>
    </figure>
  );
}

function ScreenStrip({ figure, strip }: { figure: StripFigure; strip: Strip }) {
  const [holder, width] = useWidth<HTMLDivElement>(300);
  const words = strip.groups.map(
    ({ value, losses, diverged, settings }) =>
      `${value}: median ${number(median(losses))}, ${diverged} of ${settings} diverged`,
  );
  return (
    <div class="chart strip" ref={holder}>
      <svg
        viewBox={`0 0 ${width} ${STRIP_HEIGHT}`}
        width={width}
        height={STRIP_HEIGHT}
        role="img"
        aria-label={`Loss of each setting by ${strip.option}. ${words.join("; ")}.`}
      >
        <StripPlot figure={figure} strip={strip} width={width} paint={screenPaint} />
      </svg>
    </div>
  );
}
