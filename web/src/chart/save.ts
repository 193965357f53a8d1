// SPDX-License-Identifier: MIT
// Saves a drawing as a file: SVG as it is, PNG with twice the pixels.
import { render, type VNode } from "preact";
import type { Size } from "./plot";

/** The text of an SVG file from a drawing that refers to nothing outside it. */
export function svgText(drawing: VNode): string {
  const holder = document.createElement("div");
  render(drawing, holder);
  const svg = holder.querySelector("svg");
  if (!svg) throw new Error("the drawing has no svg");
  const text = new XMLSerializer().serializeToString(svg);
  render(null, holder);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`;
}

/** A name that every file system takes. */
export function fileName(words: string, ending: string): string {
  const name = words
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 80);
  return `${name || "chart"}.${ending}`;
}

function download(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function saveSvg(drawing: VNode, name: string): void {
  download(new Blob([svgText(drawing)], { type: "image/svg+xml" }), fileName(name, "svg"));
}

export async function savePng(drawing: VNode, size: Size, name: string): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(drawing))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = size.width * 2;
  canvas.height = size.height * 2;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("no picture");
  download(blob, fileName(name, "png"));
}
