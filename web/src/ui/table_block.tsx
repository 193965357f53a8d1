// SPDX-License-Identifier: MIT
// A table that scrolls sideways where it must, below words that do not.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export function TableBlock({ caption, children }: { caption: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <div class="table-block">
      <p class="table-caption" id={id}>
        {caption}
      </p>
      <div class="table-scroll" tabIndex={0} role="group" aria-labelledby={id}>
        {children}
      </div>
    </div>
  );
}
