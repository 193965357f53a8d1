// SPDX-License-Identifier: MIT
// Which of d3's ticks have a label, and what it says: labels must not run into each other.
import { scaleLinear } from "d3-scale";
import { short } from "../data/format";
import { domainOf, isLog, type Scale } from "./scale";

export interface Tick {
  value: number;
  /** Empty for ticks that have a line only. */
  label: string;
}

/** Below this ratio of its ends a logarithmic axis has too few powers, and gets the ticks of a linear one. */
const FEW = 8;

export function ticks(of: Scale, wanted: number): Tick[] {
  const [low, high] = domainOf(of);
  if (!(high > low)) return [];
  if (isLog(of) && high / low >= FEW) return logTicks(of.ticks(wanted), low, high);
  const values = scaleLinear([low, high], [0, 1]).ticks(wanted);
  const step = values.length > 1 ? (values[1] as number) - (values[0] as number) : high - low;
  return values.map((value) => ({ value, label: linearLabel(value, step) }));
}

/** As many digits as neighbours need to differ. */
function linearLabel(value: number, step: number): string {
  if (value === 0) return "0";
  const digits = Math.ceil(Math.log10(Math.abs(value) / step) + 1e-9) + 1;
  return short(value, Math.min(Math.max(digits, 2), 12));
}

/** Over two decades 1, 2 and 5 are named, over more only powers; over many there is no room for the rest. */
function logTicks(values: number[], low: number, high: number): Tick[] {
  const decades = Math.log10(high / low);
  const named = decades <= 2 ? [1, 2, 5] : [1];
  return values.flatMap((value) => {
    const [factor = 1, power = 0] = value.toExponential(0).split("e").map(Number);
    if (factor !== 1 && decades > 4) return [];
    return { value, label: named.includes(factor) ? logLabel(value, factor, power) : "" };
  });
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function logLabel(value: number, factor: number, power: number): string {
  if (power >= -4 && power <= 4) return short(value, 1);
  const digits = [...String(Math.abs(power))].map((digit) => RAISED[Number(digit)]).join("");
  return `${factor === 1 ? "" : `${factor}·`}10${power < 0 ? "⁻" : ""}${digits}`;
}
