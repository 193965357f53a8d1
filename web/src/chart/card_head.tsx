// SPDX-License-Identifier: MIT
// The head of a figure's card: its title and its tools.
import type { ComponentChildren } from "preact";

export function CardHead({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="card-head">
      <h5>{title}</h5>
      <div class="card-tools" role="group" aria-label={`Tools of ${title}`}>
        {children}
      </div>
    </div>
  );
}
