// SPDX-License-Identifier: MIT
// An optimizer in a table: its look, its name, its part in the comparison.
import type { Optimizer } from "../model";
import { Swatch } from "./swatch";

export function OptimizerName({ optimizer }: { optimizer: Optimizer }) {
  return (
    <span class="optimizer">
      <Swatch colour={optimizer.colour} dash={optimizer.dash} />
      <span class="optimizer-words">
        <span class="optimizer-label">{optimizer.label}</span>
        {optimizer.baseline && <span class="badge">baseline</span>}
        {optimizer.ablation && <span class="badge">ablation</span>}
      </span>
    </span>
  );
}
