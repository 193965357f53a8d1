// SPDX-License-Identifier: MIT
// The one legend of all charts and tables: each optimizer is a button.
import type { Optimizer } from "../model";
import { hidden, isolate, isShown, showAll, toggle } from "../state/settings";
import { Swatch } from "../ui/swatch";

export function Legend({ optimizers }: { optimizers: Optimizer[] }) {
  const labels = optimizers.map(({ label }) => label);
  const anyHidden = labels.some((label) => hidden.value.has(label));
  return (
    <div class="legend" role="group" aria-label="Optimizers shown">
      {optimizers.map((optimizer) => (
        <LegendEntry key={optimizer.label} optimizer={optimizer} labels={labels} />
      ))}
      <button type="button" class="quiet" disabled={!anyHidden} onClick={showAll}>
        all
      </button>
    </div>
  );
}

function LegendEntry({ optimizer, labels }: { optimizer: Optimizer; labels: string[] }) {
  const { label } = optimizer;
  const onClick = (event: MouseEvent) => {
    if (event.shiftKey || event.altKey) isolate(label, labels);
    else toggle(label);
  };
  return (
    <span class={`legend-entry${optimizer.ablation ? " ablation" : ""}`}>
      <button
        type="button"
        class="legend-toggle"
        aria-pressed={isShown(label)}
        title="Click to show or hide; with Shift, to see it alone"
        onClick={onClick}
      >
        <Swatch colour={optimizer.colour} dash={optimizer.dash} />
        <span class="legend-label">{label}</span>
      </button>
      <button
        type="button"
        class="legend-only"
        aria-label={`Show ${label} only`}
        onClick={() => isolate(label, labels)}
      >
        only
      </button>
    </span>
  );
}
