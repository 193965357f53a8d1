// SPDX-License-Identifier: MIT
// Keeps the room of what is far away, and draws it when it comes near or is printed.
import type { ComponentChildren } from "preact";
import { useNear } from "./measure";

export function Lazy({ height, children }: { height: number; children: () => ComponentChildren }) {
  const [element, near] = useNear<HTMLDivElement>();
  return (
    <div ref={element} class="lazy" style={near ? undefined : { minHeight: `${height}px` }}>
      {near && children()}
    </div>
  );
}
