// SPDX-License-Identifier: MIT
// Curves and bands as paths of SVG, by d3, thinned to the pixels there are.
import { union } from "d3-array";
import { area, line } from "d3-shape";
import { decimate, within } from "../data/decimate";
import type { Curve } from "../data/series";
import { domainOf, type Scale } from "./scale";

/** Places of a column that are worth drawing. */
function drawn(column: Float64Array, curve: Curve, x: Scale): number[] {
  const [from, to] = within(curve.x, ...domainOf(x));
  return decimate(column, (place) => x(curve.x[place] as number), from, to);
}

/** The line of a curve; a lone point becomes a dot by its round end. */
export function linePath(curve: Curve, x: Scale, y: Scale): string {
  const across = (place: number) => x(curve.x[place] as number);
  const up = (place: number) => y(curve.y[place] as number);
  const path = line<number>(across, up)
    .defined((place) => Number.isFinite(across(place)) && Number.isFinite(up(place)))
    .digits(1);
  return path(drawn(curve.y, curve, x)) ?? "";
}

/** The band between low and high; empty where there is none. */
export function bandPath(curve: Curve, x: Scale, y: Scale): string {
  if (curve.runs < 2) return "";
  const both = union(drawn(curve.low, curve, x), drawn(curve.high, curve, x));
  const known = [...both]
    .filter((place) => Number.isFinite(curve.low[place]) && Number.isFinite(curve.high[place]))
    .sort((a, b) => a - b);
  const path = area<number>(
    (place) => x(curve.x[place] as number),
    (place) => y(curve.low[place] as number),
    (place) => y(curve.high[place] as number),
  )
    .defined((place) => Number.isFinite(x(curve.x[place] as number)))
    .digits(1);
  return known.length < 2 ? "" : (path(known) ?? "");
}
