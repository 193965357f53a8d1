// SPDX-License-Identifier: MIT
// All runs of a study: filter, order, pages, and ticks to compare them.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { number, options } from "../data/format";
import { filterRuns, outcomeOf, type RunEntry, type RunFilter } from "../data/filters";
import { sortBy } from "../data/sorting";
import type { RunTable } from "../model";
import { Setting } from "../ui/setting";
import { HeaderCell, type Order, type TableColumn } from "../ui/sortable_table";
import { api } from "./api";
import { CompareBar } from "./compare_bar";
import { useFresh } from "./fresh";
import { links, type RunKey } from "./route";
import { isTicked, setTicked } from "./selection";

const PAGE = 50;

interface RunsTabProps {
  store: number;
  study: number;
  revision: string | undefined;
}

export function RunsTab({ store, study, revision }: RunsTabProps) {
  const { data, error } = useFresh(`runs ${store} ${study}`, revision, () => api.runs(store, study));
  if (!data) return <p class={error ? "notice" : "soft"}>{error ?? "Fetching the runs…"}</p>;
  return <Runs table={data} keyOf={(run) => ({ store, study, run })} />;
}

function columnsOf(table: RunTable, keyOf: (run: number) => RunKey): TableColumn<RunEntry>[] {
  const task = (run: RunEntry) => table.tasks[run.task] ?? "";
  return [
    {
      id: "id",
      title: "Run",
      key: (run) => run.id,
      cell: (run) => <a href={links.run(keyOf(run.id))}>#{run.id}</a>,
    },
    { id: "task", title: "Task", key: task, cell: task },
    { id: "optimizer", title: "Optimizer", key: (run) => run.optimizer, cell: (run) => run.optimizer },
    { id: "phase", title: "Phase", key: (run) => run.phase, cell: (run) => run.phase },
    { id: "seed", title: "Seed", numeric: true, key: (run) => run.seed, cell: (run) => run.seed },
    {
      id: "loss",
      title: "Least loss",
      numeric: true,
      key: (run) => run.loss,
      cell: (run) => number(run.loss, 6),
    },
    {
      id: "outcome",
      title: "Outcome",
      key: outcomeOf,
      cell: (run) => <span class={`outcome ${outcomeOf(run)}`}>{outcomeOf(run)}</span>,
    },
    {
      id: "options",
      title: "Options",
      key: (run) => options(run.options),
      cell: (run) => <Setting text={options(run.options)} />,
    },
  ];
}

function Runs({ table, keyOf }: { table: RunTable; keyOf: (run: number) => RunKey }) {
  const filter = useSignal<RunFilter>({ query: "", phase: "all", outcome: "all" });
  const order = useSignal<Order>({ id: "loss", direction: "ascending" });
  const page = useSignal(0);
  const columns = useMemo(() => columnsOf(table, keyOf), [table]);
  const found = useMemo(() => {
    const column = columns.find(({ id }) => id === order.value.id);
    const some = filterRuns(table, filter.value);
    return column ? sortBy(some, column.key, order.value.direction) : some;
  }, [table, filter.value, order.value]);
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const current = Math.min(page.value, pages - 1);
  const rows = found.slice(current * PAGE, (current + 1) * PAGE);
  const keys = rows.map((run) => keyOf(run.id));
  const change = (part: Partial<RunFilter>) => {
    filter.value = { ...filter.value, ...part };
    page.value = 0;
  };
  return (
    <>
      <RunFilters filter={filter.value} onChange={change} />
      <div class="pages">
        <p class="soft" aria-live="polite">
          {found.length} of {table.runs.length} runs
        </p>
        <button type="button" disabled={current === 0} onClick={() => (page.value = current - 1)}>
          Previous
        </button>
        <span>
          page {current + 1} of {pages}
        </span>
        <button type="button" disabled={current >= pages - 1} onClick={() => (page.value = current + 1)}>
          Next
        </button>
      </div>
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Runs">
        <table class="data runs">
          <caption class="visually-hidden">Runs of the study</caption>
          <thead>
            <tr>
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label="Tick all runs of this page"
                  checked={keys.length > 0 && keys.every(isTicked)}
                  onChange={(event) => setTicked(keys, event.currentTarget.checked)}
                />
              </th>
              {columns.map((column) => (
                <HeaderCell
                  key={column.id}
                  column={column}
                  order={order.value}
                  onOrder={(next) => (order.value = next)}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((run) => (
              <tr key={run.id}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Compare run ${run.id}`}
                    checked={isTicked(keyOf(run.id))}
                    onChange={(event) => setTicked([keyOf(run.id)], event.currentTarget.checked)}
                  />
                </td>
                {columns.map((column) => (
                  <td key={column.id} class={column.numeric ? "number" : ""}>
                    {column.cell(run)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {table.runs.length === 0 && <p class="soft">No run has ended yet.</p>}
      <CompareBar />
    </>
  );
}

function RunFilters({
  filter,
  onChange,
}: {
  filter: RunFilter;
  onChange: (part: Partial<RunFilter>) => void;
}) {
  return (
    <div class="filters" role="search">
      <label class="picker grow">
        <span>Filter</span>
        <input
          type="search"
          value={filter.query}
          placeholder="optimizer, task, seed, options"
          onInput={(event) => onChange({ query: event.currentTarget.value })}
        />
      </label>
      <label class="picker">
        <span>Phase</span>
        <select
          value={filter.phase}
          onChange={(event) => onChange({ phase: event.currentTarget.value as RunFilter["phase"] })}
        >
          {["all", "tune", "measure"].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label class="picker">
        <span>Outcome</span>
        <select
          value={filter.outcome}
          onChange={(event) => onChange({ outcome: event.currentTarget.value as RunFilter["outcome"] })}
        >
          {["all", "finished", "diverged", "pruned"].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
    </div>
  );
}
