// SPDX-License-Identifier: MIT
// All runs of a study: filter, order, pages, and ticks to compare them.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { count, number, options } from "../data/format";
import { outcomeOf, type RunFilter } from "../data/filters";
import type { RunPage } from "../model";
import { Setting } from "../ui/setting";
import { HeaderCell, type Column, type Order } from "../ui/sortable_table";
import { api } from "./api";
import { CompareBar } from "./compare_bar";
import { useFresh } from "./fresh";
import { links, type RunKey } from "./route";
import { isTicked, setTicked } from "./selection";

const PAGE = 50;

type RunEntry = RunPage["runs"][number];

interface RunsTabProps {
  store: number;
  study: number;
  revision: string | undefined;
}

/** The server finds, orders and sends a page at a time, however many runs there are. */
export function RunsTab({ store, study, revision }: RunsTabProps) {
  const filter = useSignal<RunFilter>({ words: "", phase: "all", outcome: "all" });
  const order = useSignal<Order>({ id: "loss", direction: "ascending" });
  const page = useSignal(0);
  const query = {
    ...filter.value,
    order: order.value.id,
    direction: order.value.direction,
    offset: page.value * PAGE,
    count: PAGE,
  };
  const { data, error } = useFresh(`runs ${store} ${study} ${JSON.stringify(query)}`, revision, () =>
    api.runs(store, study, query),
  );
  // While the next page is on its way, the one before stays.
  const shown = useRef<{ of: string; table: RunPage } | null>(null);
  const of = `${store} ${study}`;
  if (data) shown.current = { of, table: data };
  const table = shown.current?.of === of ? shown.current.table : null;
  const change = (part: Partial<RunFilter>) => {
    filter.value = { ...filter.value, ...part };
    page.value = 0;
  };
  if (!table) return <p class={error ? "notice" : "soft"}>{error ?? "Fetching the runs…"}</p>;
  return (
    <>
      <RunFilters filter={filter.value} onChange={change} />
      {error && <p class="notice">{error}</p>}
      <Pages table={table} page={page.value} onPage={(next) => (page.value = next)} />
      <Runs
        table={table}
        keyOf={(run) => ({ store, study, run })}
        order={order.value}
        onOrder={(next) => {
          order.value = next;
          page.value = 0;
        }}
      />
      {table.total === 0 && <p class="soft">No run has ended yet.</p>}
      <CompareBar />
    </>
  );
}

function columnsOf(table: RunPage, keyOf: (run: number) => RunKey): Column<RunEntry>[] {
  return [
    { id: "id", title: "Run", cell: (run) => <a href={links.run(keyOf(run.id))}>#{run.id}</a> },
    { id: "task", title: "Task", cell: (run) => table.tasks[run.task] ?? "" },
    { id: "optimizer", title: "Optimizer", cell: (run) => run.optimizer },
    { id: "phase", title: "Phase", cell: (run) => run.phase },
    { id: "seed", title: "Seed", numeric: true, cell: (run) => run.seed },
    { id: "loss", title: "Least loss", numeric: true, cell: (run) => number(run.loss, 6) },
    {
      id: "outcome",
      title: "Outcome",
      cell: (run) => <span class={`outcome ${outcomeOf(run)}`}>{outcomeOf(run)}</span>,
    },
    { id: "options", title: "Options", cell: (run) => <Setting text={options(run.options)} /> },
  ];
}

function Pages(props: { table: RunPage; page: number; onPage: (page: number) => void }) {
  const { table, page, onPage } = props;
  const pages = Math.max(1, Math.ceil(table.found / PAGE));
  return (
    <div class="pages">
      <p class="soft" aria-live="polite">
        {count(table.found)} of {count(table.total)} runs
      </p>
      <button type="button" disabled={page === 0} onClick={() => onPage(Math.min(page, pages) - 1)}>
        Previous
      </button>
      <span>
        page {page + 1} of {pages}
      </span>
      <button type="button" disabled={page >= pages - 1} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </div>
  );
}

interface RunsProps {
  table: RunPage;
  keyOf: (run: number) => RunKey;
  order: Order;
  onOrder: (order: Order) => void;
}

function Runs({ table, keyOf, order, onOrder }: RunsProps) {
  const columns = columnsOf(table, keyOf);
  const keys = table.runs.map((run) => keyOf(run.id));
  return (
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
              <HeaderCell key={column.id} column={column} order={order} onOrder={onOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {table.runs.map((run) => (
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
          value={filter.words}
          placeholder="optimizer, task, seed, options"
          onInput={(event) => onChange({ words: event.currentTarget.value })}
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
