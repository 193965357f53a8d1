// SPDX-License-Identifier: MIT
// A figure of the page: title, buttons, chart, caption, values.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { isShown, showBand } from "../state/settings";
import { DataTable } from "./data_table";
import type { LineFigure } from "./figure";
import { Lazy } from "./lazy";
import { LineChart, zoomBy } from "./line_chart";
import { savePng, saveSvg } from "./save";
import { lineSheet, type Drawn } from "./sheet";
import { WHOLE } from "./view";
import { zoomOf } from "./zooms";
import { CardHead } from "./card_head";

/** Series that the legend shows, the same list as long as it does not change. */
function useShown(figure: LineFigure) {
  const key = figure.series.map((series) => isShown(series.label)).join();
  return useMemo(() => figure.series.filter((series) => isShown(series.label)), [figure, key]);
}

export function SaveButtons({ title, drawn, name }: { title: string; drawn: () => Drawn; name: string }) {
  const png = () => {
    const { drawing, size } = drawn();
    void savePng(drawing, size, name);
  };
  return (
    <>
      <button
        type="button"
        onClick={() => saveSvg(drawn().drawing, name)}
        aria-label={`Save SVG of ${title}`}
      >
        SVG
      </button>
      <button type="button" onClick={png} aria-label={`Save PNG of ${title}`}>
        PNG
      </button>
    </>
  );
}

export function ChartCard({ figure, wide = false }: { figure: LineFigure; wide?: boolean }) {
  const zoom = zoomOf(figure.id);
  const shown = useShown(figure);
  const open = useSignal(false);
  const band = showBand.value && shown.length <= (figure.bandsUpTo ?? Infinity);
  const isWhole = zoom.value.x === null && zoom.value.y === null;
  return (
    <figure class={`card${wide ? " wide" : ""}`} data-chart={figure.id}>
      <CardHead title={figure.title}>
        <button type="button" aria-label="Zoom in" onClick={() => zoomBy(zoom, figure, shown, 0.5)}>
          +
        </button>
        <button
          type="button"
          aria-label="Zoom out"
          disabled={isWhole}
          onClick={() => zoomBy(zoom, figure, shown, 2)}
        >
          −
        </button>
        <button type="button" disabled={isWhole} onClick={() => (zoom.value = WHOLE)}>
          Reset
        </button>
        <SaveButtons
          title={figure.title}
          name={`${figure.title} ${figure.subject}`}
          drawn={() => lineSheet(figure, shown, zoom.value, band)}
        />
        <button type="button" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
          Data
        </button>
      </CardHead>
      <Lazy height={320}>{() => <LineChart figure={figure} shown={shown} band={band} zoom={zoom} />}</Lazy>
      <Caption>{figure.caption}</Caption>
      {open.value && <DataTable figure={figure} shown={shown} />}
    </figure>
  );
}

export function Caption({ children }: { children: ComponentChildren }) {
  return <figcaption>{children}</figcaption>;
}
