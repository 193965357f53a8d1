// SPDX-License-Identifier: MIT
// The zoom of each chart, by its id, so that new data do not lose it.
import { signal, type Signal } from "@preact/signals";
import { WHOLE, type Zoom } from "./view";

const zooms = new Map<string, Signal<Zoom>>();

export function zoomOf(id: string): Signal<Zoom> {
  let zoom = zooms.get(id);
  if (!zoom) {
    zoom = signal(WHOLE);
    zooms.set(id, zoom);
  }
  return zoom;
}
