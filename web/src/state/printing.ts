// SPDX-License-Identifier: MIT
// Draws everything before the page is printed.
import { options } from "preact";
import { printing } from "./settings";

/** A browser takes the page as it is when the event ends, so what changes is drawn at once. */
function atOnce(change: () => void): void {
  const usual = options.debounceRendering;
  options.debounceRendering = (draw) => draw();
  change();
  if (usual) options.debounceRendering = usual;
  else delete options.debounceRendering;
}

export function startPrinting(): void {
  window.addEventListener("beforeprint", () => atOnce(() => (printing.value = true)));
  window.addEventListener("afterprint", () => (printing.value = false));
}
