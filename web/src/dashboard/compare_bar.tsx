// SPDX-License-Identifier: MIT
// What is ticked to be compared, at the foot of the window.
import { plural } from "../data/format";
import { links } from "./route";
import { ticked } from "./selection";

export function CompareBar() {
  if (ticked.value.length === 0) return null;
  return (
    <div class="compare-bar" role="region" aria-label="Runs to compare">
      <span>{plural(ticked.value.length, "run")} ticked</span>
      <a class="button" href={links.compare(ticked.value)}>
        Compare
      </a>
      <button type="button" onClick={() => (ticked.value = [])}>
        Clear
      </button>
    </div>
  );
}
