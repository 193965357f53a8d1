// SPDX-License-Identifier: MIT
// Colours of heat maps, by d3.
import { lab } from "d3-color";
import { interpolateRgb } from "d3-interpolate";
import { interpolateViridis } from "d3-scale-chromatic";

export interface Shade {
  fill: string;
  /** Black or white, whichever reads better on it. */
  ink: string;
}

/** On colours lighter than this, black has more contrast than white. */
const HALF_LIGHT = 49.5;

function shade(fill: string): Shade {
  return { fill, ink: lab(fill).l > HALF_LIGHT ? "#000000" : "#ffffff" };
}

/** The colour at 0..1: viridis rises evenly in brightness and survives grey printing. */
export function ramp(part: number): Shade {
  return shade(interpolateViridis(part));
}

const towardsVermillion = interpolateRgb("#fffaf5", "#b94600");

/** The share that diverged, from white to vermillion. */
export function warning(part: number): Shade {
  return shade(towardsVermillion(part));
}
