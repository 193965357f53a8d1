// SPDX-License-Identifier: MIT
// Orders rows by a key; what has no key comes last, whichever way.

export type Key = number | string | null | undefined;
export type Direction = "ascending" | "descending";

function missing(key: Key): boolean {
  return key === null || key === undefined || key === "" || (typeof key === "number" && Number.isNaN(key));
}

const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

export function compareKeys(a: Key, b: Key): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return words.compare(String(a), String(b));
}

/** A sorted copy; equal ones stay as they were. */
export function sortBy<T>(rows: readonly T[], key: (row: T) => Key, direction: Direction): T[] {
  const sign = direction === "ascending" ? 1 : -1;
  return rows
    .map((row, at) => ({ row, at, key: key(row) }))
    .sort((a, b) => {
      const none = Number(missing(a.key)) - Number(missing(b.key));
      if (none !== 0) return none;
      if (missing(a.key)) return a.at - b.at;
      return sign * compareKeys(a.key, b.key) || a.at - b.at;
    })
    .map((entry) => entry.row);
}
