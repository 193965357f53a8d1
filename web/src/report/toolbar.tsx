// SPDX-License-Identifier: MIT
// The bar that stays in sight: legend, chart controls, where to go.
import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { optimizersOf } from "../data/rows";
import { ChartControls } from "./chart_controls";
import { Legend } from "./legend";
import type { StudyPart } from "./overview_matrix";
import { visit } from "./place";

interface ToolbarProps {
  part: StudyPart;
  /** The picker of studies, where there are several. */
  children?: ComponentChildren;
}

/** Tells the styles how high the bar is, so that what is jumped to does not end up below it. */
function useToolbarHeight() {
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = bar.current;
    if (!element) return undefined;
    const root = document.documentElement.style;
    const observer = new ResizeObserver(() => root.setProperty("--toolbar", `${element.offsetHeight}px`));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return bar;
}

export function Toolbar({ part, children }: ToolbarProps) {
  const { study, link } = part;
  const open = useSignal(false);
  const bar = useToolbarHeight();
  return (
    <div ref={bar} class="toolbar" role="region" aria-label="Legend and chart controls">
      <Legend optimizers={optimizersOf(study)} />
      <button
        type="button"
        class="toolbar-more"
        aria-expanded={open.value}
        onClick={() => (open.value = !open.value)}
      >
        {open.value ? "Fewer controls" : "Controls"}
      </button>
      <div class={`toolbar-controls${open.value ? " open" : ""}`}>
        {children}
        {study.tasks.length > 1 && (
          <label class="picker">
            <span>Go to</span>
            <select
              value=""
              onChange={(event) => {
                visit(event.currentTarget.value);
                event.currentTarget.value = "";
              }}
            >
              <option value="">task…</option>
              {study.tasks.map((task) => (
                <option key={task.name} value={link(task.name)}>
                  {task.title}
                </option>
              ))}
            </select>
          </label>
        )}
        <ChartControls />
      </div>
    </div>
  );
}
