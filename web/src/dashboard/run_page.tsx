// SPDX-License-Identifier: MIT
// One run: its options, its curves, and the command that trains it again.
import { useMemo } from "preact/hooks";
import { bytes } from "../data/format";
import { outcomeOf } from "../data/filters";
import type { RunDetail } from "../model";
import { Command } from "../ui/copy_button";
import { api } from "./api";
import { CompareBar } from "./compare_bar";
import { useFresh } from "./fresh";
import { keyText, links, type RunKey } from "./route";
import { RunCharts } from "./run_charts";
import { runLabel, taskOfRuns } from "./run_task";
import { isTicked, setTicked } from "./selection";

export function RunPage({ runKey }: { runKey: RunKey }) {
  const { data, error } = useFresh(`run ${keyText(runKey)}`, undefined, () => api.run(runKey));
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <a href={links.list}>All studies</a>
        <a href={links.study(runKey.store, runKey.study)}>Study</a>
        <a href={links.runs(runKey.store, runKey.study)}>Runs</a>
      </nav>
      {data ? (
        <RunView run={data} runKey={runKey} />
      ) : (
        <p class={error ? "notice" : "soft"}>{error ?? "Fetching the run…"}</p>
      )}
      <CompareBar />
    </>
  );
}

function RunView({ run, runKey }: { run: RunDetail; runKey: RunKey }) {
  const task = useMemo(() => taskOfRuns([run], [runLabel(run)], run.task), [run]);
  const outcome = run.diverged ? `diverged at epoch ${run.diverged_at}` : outcomeOf(run);
  const facts: [string, string][] = [
    ["Task", run.task],
    ["Method", run.method],
    ["Phase", run.phase],
    ["Seed", String(run.seed)],
    ["Outcome", outcome],
    ["State", bytes(run.state_bytes)],
    ...Object.entries(run.options),
  ];
  return (
    <>
      <h2>
        Run #{run.id}: {run.optimizer}
      </h2>
      <dl class="made">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h3>Train it again</h3>
      <Command text={run.command} />
      <label class="switch">
        <input
          type="checkbox"
          checked={isTicked(runKey)}
          onChange={(event) => setTicked([runKey], event.currentTarget.checked)}
        />
        <span>compare this run</span>
      </label>
      <h3>Curves</h3>
      <h4 class="visually-hidden">Charts</h4>
      <RunCharts task={task} scope={`run ${keyText(runKey)}`} />
    </>
  );
}
