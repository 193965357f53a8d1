// SPDX-License-Identifier: MIT
// Linear and logarithmic scales, by d3.
import { scaleLinear, scaleLog, type ScaleLinear, type ScaleLogarithmic } from "d3-scale";

export type Range = [number, number];

export type Scale = ScaleLinear<number, number> | ScaleLogarithmic<number, number>;

export function scale(domain: Range, range: Range, log: boolean): Scale {
  return log ? scaleLog(domain, range) : scaleLinear(domain, range);
}

export function isLog(of: Scale): of is ScaleLogarithmic<number, number> {
  return "base" in of;
}

export function domainOf(of: Scale): Range {
  return of.domain() as Range;
}

/** A domain a little wider than the values, so that curves keep off the frame. */
export function padded(low: number, high: number, log: boolean, part = 0.04): Range {
  if (high > low) {
    const measure = scale([low, high], [0, 1], log);
    return [measure.invert(-part), measure.invert(1 + part)];
  }
  if (log) return [low / Math.sqrt(10), high * Math.sqrt(10)];
  const extra = Math.abs(low) * 0.1 || 1;
  return [low - extra, high + extra];
}
