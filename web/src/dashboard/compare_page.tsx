// SPDX-License-Identifier: MIT
// Curves of ticked runs, of any study, in the same charts.
import { useEffect, useMemo } from "preact/hooks";
import { number, options } from "../data/format";
import { outcomeOf } from "../data/filters";
import type { Overview, RunDetail } from "../model";
import { Swatch } from "../ui/swatch";
import { api } from "./api";
import { useFresh } from "./fresh";
import { keyText, links, type RunKey } from "./route";
import { RunCharts } from "./run_charts";
import { runLook, taskOfRuns } from "./run_task";
import { ticked } from "./selection";

interface ComparePageProps {
  keys: RunKey[];
  overview: Overview | null;
}

const details = new Map<string, Promise<RunDetail>>();

/** Ended runs do not change: each is fetched once. */
function detailOf(key: RunKey): Promise<RunDetail> {
  const text = keyText(key);
  let detail = details.get(text);
  if (!detail) {
    detail = api.run(key);
    detail.catch(() => details.delete(text));
    details.set(text, detail);
  }
  return detail;
}

function least(run: RunDetail): number | null {
  const values = run.points.train_loss.slice(1).filter((value): value is number => value !== null);
  return values.length > 0 ? Math.min(...values) : null;
}

export function ComparePage({ keys, overview }: ComparePageProps) {
  const key = keys.map(keyText).join();
  useEffect(() => {
    ticked.value = keys;
  }, [key]);
  const { data, error } = useFresh(`compare ${key}`, undefined, () => Promise.all(keys.map(detailOf)));
  const nameOf = ({ store, study }: RunKey) =>
    overview?.studies.find((one) => one.store === store && one.id === study)?.name ?? `study ${study}`;
  const labels = (data ?? []).map(
    (run, at) => `${run.optimizer}, seed ${run.seed} (${keyText(keys[at] as RunKey)})`,
  );
  const task = useMemo(() => taskOfRuns(data ?? [], labels, `${data?.length ?? 0} runs compared`), [data]);
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <a href={links.list}>All studies</a>
      </nav>
      <h2>Runs compared</h2>
      {keys.length === 0 && (
        <p class="soft">Tick runs in the Runs part of a study, then compare them here.</p>
      )}
      {!data && keys.length > 0 && <p class={error ? "notice" : "soft"}>{error ?? "Fetching the runs…"}</p>}
      {data && data.length > 0 && (
        <>
          <h3>The runs</h3>
          <div class="table-scroll" tabIndex={0} role="group" aria-label="Runs compared">
            <table class="data">
              <thead>
                <tr>
                  {["Run", "Study", "Task", "Optimizer", "Seed", "Least loss", "Outcome", "Options", ""].map(
                    (title) => (
                      <th scope="col" key={title}>
                        {title || <span class="visually-hidden">Remove</span>}
                      </th>
                    ),
                  )}
                </tr>
              </thead>
              <tbody>
                {data.map((run, at) => {
                  const runKey = keys[at] as RunKey;
                  const others = keys.filter((other) => other !== runKey);
                  return (
                    <tr key={keyText(runKey)}>
                      <th scope="row">
                        <span class="optimizer">
                          <Swatch {...runLook(at)} />
                          <a href={links.run(runKey)}>#{run.id}</a>
                        </span>
                      </th>
                      <td>{nameOf(runKey)}</td>
                      <td>{run.task}</td>
                      <td>{run.optimizer}</td>
                      <td class="number">{run.seed}</td>
                      <td class="number">{number(least(run), 6)}</td>
                      <td>{outcomeOf(run)}</td>
                      <td>
                        <span class="setting">{options(run.options)}</span>
                      </td>
                      <td>
                        <a href={links.compare(others)} aria-label={`Remove run ${run.id}`}>
                          remove
                        </a>
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
          <h3>Curves</h3>
          <h4 class="visually-hidden">Charts</h4>
          <RunCharts task={task} scope="compare" />
        </>
      )}
    </>
  );
}
