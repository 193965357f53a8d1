// SPDX-License-Identifier: MIT
// A line chart that answers to the pointer and to the keyboard.
import { useSignal, type Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { LineFigure, Series } from "./figure";
import { useWidth } from "./measure";
import { screenPaint } from "./paint";
import { frameOf, Plot, type Frame, type Size } from "./plot";
import { readings, snap, spoken, step } from "./reading";
import { domainOf, type Range } from "./scale";
import { Tooltip } from "./tooltip";
import { clamped, viewOf, WHOLE, xExtent, zoomed, type Zoom } from "./view";

interface LineChartProps {
  figure: LineFigure;
  shown: Series[];
  band: boolean;
  zoom: Signal<Zoom>;
}

interface Drag {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  box: boolean;
}

const MIN_DRAG = 5;

/** Zooms about the crosshair, or the middle where there is none. */
export function zoomBy(
  zoom: Signal<Zoom>,
  figure: LineFigure,
  shown: Series[],
  factor: number,
  about?: number,
): void {
  const whole = xExtent(shown, figure.xLog);
  if (!whole) return;
  const seen = zoom.value.x ?? whole;
  const middle = figure.xLog ? Math.sqrt(seen[0] * seen[1]) : (seen[0] + seen[1]) / 2;
  const inside = about !== undefined && about >= seen[0] && about <= seen[1] ? about : middle;
  zoom.value = { x: clamped(zoomed(seen, inside, factor, figure.xLog), whole), y: null };
}

export function LineChart({ figure, shown, band, zoom }: LineChartProps) {
  const [holder, width] = useWidth<HTMLDivElement>(640);
  const size: Size = { width, height: Math.round(Math.min(400, Math.max(250, width * 0.56))) };
  const view = viewOf(figure, shown, zoom.value, band);
  const frame = view && frameOf(size, view, figure);
  const cursor = useSignal<number | null>(null);
  const drag = useSignal<Drag | null>(null);
  const said = useSignal("");
  const drawing = useMemo(
    () => frame && <Plot figure={figure} shown={shown} frame={frame} band={band} paint={screenPaint} />,
    [figure, shown, band, size.width, size.height, zoom.value],
  );
  if (!frame) {
    return (
      <div class="chart" ref={holder}>
        <p class="no-data">{shown.length === 0 ? "Nothing is switched on in the legend." : "No data."}</p>
      </div>
    );
  }

  const place = (event: PointerEvent): [number, number] => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const across = Math.min(frame.right, Math.max(frame.left, event.clientX - box.left));
    const down = Math.min(frame.bottom, Math.max(frame.top, event.clientY - box.top));
    return [across, down];
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const [x, y] = place(event);
    (event.currentTarget as SVGElement).setPointerCapture(event.pointerId);
    drag.value = { x0: x, y0: y, x1: x, y1: y, box: event.shiftKey };
  };
  const onPointerMove = (event: PointerEvent) => {
    const [x, y] = place(event);
    cursor.value = snap(shown, frame.x.invert(x));
    if (drag.value) drag.value = { ...drag.value, x1: x, y1: y };
  };
  const onPointerUp = (event: PointerEvent) => {
    // A finger does not hover: where it was lifted, a tap included, the values stay until another is touched.
    if (event.pointerType === "touch") cursor.value = snap(shown, frame.x.invert(place(event)[0]));
    const done = drag.value;
    drag.value = null;
    if (!done || Math.abs(done.x1 - done.x0) < MIN_DRAG) return;
    const x: Range = [frame.x.invert(Math.min(done.x0, done.x1)), frame.x.invert(Math.max(done.x0, done.x1))];
    const tall = done.box && Math.abs(done.y1 - done.y0) >= MIN_DRAG;
    const y: Range | null = tall
      ? [frame.y.invert(Math.max(done.y0, done.y1)), frame.y.invert(Math.min(done.y0, done.y1))]
      : null;
    zoom.value = { x, y };
  };
  const moveTo = (x: number) => {
    cursor.value = x;
    said.value = spoken(figure, shown, x);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const seen = domainOf(frame.x);
    const here = cursor.value;
    const inside = here !== null && here >= seen[0] && here <= seen[1] ? here : null;
    const far = event.shiftKey ? 10 : 1;
    const walk = (direction: 1 | -1) => {
      if (inside === null) return moveTo(snap(shown, seen[direction > 0 ? 0 : 1]) ?? seen[0]);
      let x = inside;
      for (let times = 0; times < far; times += 1) x = step(shown, x, direction, seen);
      return moveTo(x);
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight") walk(1);
    else if (event.key === "ArrowLeft") walk(-1);
    else if (event.key === "Home") moveTo(snap(shown, seen[0]) ?? seen[0]);
    else if (event.key === "End") moveTo(snap(shown, seen[1]) ?? seen[1]);
    else if (event.key === "+" || event.key === "=") zoomBy(zoom, figure, shown, 0.5, here ?? undefined);
    else if (event.key === "-") zoomBy(zoom, figure, shown, 2, here ?? undefined);
    else if (event.key === "0" || event.key === "Escape") {
      zoom.value = WHOLE;
      drag.value = null;
      cursor.value = null;
    } else return;
    event.preventDefault();
  };

  return (
    <div
      class="chart"
      ref={holder}
      tabIndex={0}
      role="application"
      aria-roledescription="chart"
      aria-label={`${figure.title}, ${figure.subject}. Arrow keys read values, plus and minus zoom, 0 resets.`}
      onKeyDown={onKeyDown}
      onBlur={() => (cursor.value = null)}
    >
      <svg
        viewBox={`0 0 ${size.width} ${size.height}`}
        width={size.width}
        height={size.height}
        aria-hidden="true"
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => {
          // The finger scrolls the page.
          drag.value = null;
          cursor.value = null;
        }}
        onPointerLeave={(event) => {
          if (!drag.value && event.pointerType !== "touch") cursor.value = null;
        }}
        onDblClick={() => (zoom.value = WHOLE)}
      >
        <rect width={size.width} height={size.height} fill="transparent" />
        {drawing}
        <Crosshair shown={shown} frame={frame} cursor={cursor} />
        <Selection frame={frame} drag={drag} />
      </svg>
      <CursorTooltip figure={figure} shown={shown} frame={frame} size={size} cursor={cursor} drag={drag} />
      <div class="visually-hidden" aria-live="polite">
        {said}
      </div>
    </div>
  );
}

interface CrosshairProps {
  shown: Series[];
  frame: Frame;
  cursor: Signal<number | null>;
}

/** Apart from the plot, so that moving it draws no curve anew. */
function Crosshair({ shown, frame, cursor }: CrosshairProps) {
  const x = cursor.value;
  if (x === null) return null;
  const seen = (at: number, [low, high]: Range) => at >= low && at <= high;
  const xSeen = domainOf(frame.x);
  const ySeen = domainOf(frame.y);
  return (
    <g class="crosshair" pointer-events="none">
      <line x1={frame.x(x)} x2={frame.x(x)} y1={frame.top} y2={frame.bottom} />
      {readings(shown, x)
        .filter((reading) => seen(reading.x, xSeen) && seen(reading.y, ySeen))
        .map((reading) => (
          <circle
            key={reading.series.label}
            cx={frame.x(reading.x)}
            cy={frame.y(reading.y)}
            r="4"
            fill={screenPaint.series(reading.series.colour)}
          />
        ))}
    </g>
  );
}

function Selection({ frame, drag }: { frame: Frame; drag: Signal<Drag | null> }) {
  const now = drag.value;
  if (!now) return null;
  const top = now.box ? Math.min(now.y0, now.y1) : frame.top;
  const bottom = now.box ? Math.max(now.y0, now.y1) : frame.bottom;
  return (
    <rect
      class="selection"
      x={Math.min(now.x0, now.x1)}
      y={top}
      width={Math.abs(now.x1 - now.x0)}
      height={bottom - top}
    />
  );
}

interface CursorTooltipProps extends CrosshairProps {
  figure: LineFigure;
  size: Size;
  drag: Signal<Drag | null>;
}

function CursorTooltip({ cursor, drag, ...rest }: CursorTooltipProps) {
  if (cursor.value === null || drag.value) return null;
  return <Tooltip {...rest} x={cursor.value} />;
}
