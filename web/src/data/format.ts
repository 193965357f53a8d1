// SPDX-License-Identifier: MIT
// Numbers, sizes and times as words.

/** What stands where a figure cannot be had. */
export const NONE = "–";

const MINUS = "−";

function withMinus(text: string): string {
  return text.replace(/^-/, MINUS).replace(/e-/, `e${MINUS}`).replace("e+", "e");
}

function present(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** A number with so many significant digits; exponents only where they are shorter. */
export function number(value: number | null | undefined, digits = 4): string {
  if (!present(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) {
    return withMinus(value.toExponential(digits - 1).replace(/\.?0+e/, "e"));
  }
  const text = value.toPrecision(digits);
  return withMinus(text.includes("e") ? String(Math.round(value)) : text);
}

/** The same without trailing zeros: for axes and settings. */
export function short(value: number | null | undefined, digits = 4): string {
  const text = number(value, digits);
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

/** rho in thousandths, always with its sign. */
export function thousandths(rho: number | null | undefined): string {
  if (!present(rho)) return NONE;
  const value = rho * 1000;
  const size = Math.abs(value);
  const text = size >= 1e5 || (size > 0 && size < 0.001) ? value.toExponential(1) : significant(value, 3);
  return (value > 0 ? "+" : "") + withMinus(text);
}

function significant(value: number, digits: number): string {
  const text = Number(value.toPrecision(digits));
  const size = Math.abs(text);
  const places = size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return text.toFixed(Math.min(places, 6));
}

/** A p value; very small ones as a bound. */
export function probability(p: number | null | undefined): string {
  if (!present(p)) return NONE;
  if (p < 0.0001) return "< 0.0001";
  return p < 0.01 ? p.toFixed(4) : p.toFixed(3);
}

/** Bytes in binary units. */
export function bytes(count: number | null | undefined): string {
  if (!present(count)) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toPrecision(3)} ${units[unit]}`;
}

/** Seconds of work, short. */
export function seconds(value: number | null | undefined): string {
  if (!present(value)) return NONE;
  if (value < 120) return `${number(value, 3)} s`;
  if (value < 7200) return `${(value / 60).toFixed(1)} min`;
  return `${(value / 3600).toFixed(1)} h`;
}

/** What is left, roughly. */
export function timeLeft(value: number | null | undefined): string {
  if (!present(value)) return "";
  if (value < 10) return "a few seconds left";
  if (value < 90) return `about ${Math.round(value / 5) * 5} s left`;
  if (value < 5400) return `about ${Math.round(value / 60)} min left`;
  if (value < 172800) return `about ${Math.round(value / 3600)} h left`;
  return `about ${Math.round(value / 86400)} days left`;
}

export function percent(part: number | null | undefined, digits = 0): string {
  return present(part) ? `${(part * 100).toFixed(digits)} %` : NONE;
}

/** A whole number with thin spaces between thousands. */
export function count(value: number | null | undefined): string {
  if (!present(value)) return NONE;
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Seconds since 1970 as a date and a time, in UTC so that all readers see the same. */
export function date(since: number | null | undefined): string {
  if (!present(since) || since <= 0) return NONE;
  const text = new Date(since * 1000).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;
}

/** Seconds since 1970 as the time of the day, in UTC too. */
export function timeOfDay(since: number | null | undefined): string {
  if (!present(since) || since <= 0) return NONE;
  return `${new Date(since * 1000).toISOString().slice(11, 19)} UTC`;
}

/** "1 run", "2 runs". */
export function plural(amount: number, word: string): string {
  return `${count(amount)} ${word}${amount === 1 ? "" : "s"}`;
}

/** "lr 0.1, beta 0.5" */
export function options(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}
