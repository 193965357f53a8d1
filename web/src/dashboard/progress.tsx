// SPDX-License-Identifier: MIT
// How far something is.
import { percent } from "../data/format";

export function Progress({ part, label }: { part: number; label: string }) {
  const share = Math.min(1, Math.max(0, Number.isFinite(part) ? part : 0));
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      <div class="progress-bar" style={{ width: `${share * 100}%` }} />
      <span class="progress-text">{percent(share)}</span>
    </div>
  );
}
