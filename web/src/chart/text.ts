// SPDX-License-Identifier: MIT
// How much room words take, before they are drawn.

/** A guess that is rather too wide: digits of the widest usual font, DejaVu Sans, are 0.64 of its size. */
export function textWidth(text: string, size: number): number {
  return [...text].length * size * 0.64;
}
