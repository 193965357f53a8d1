// SPDX-License-Identifier: MIT
// What the comparison says of each optimizer on a task.
import { IntervalPlot, intervalExtent, intervalText } from "../chart/interval_plot";
import type { Range } from "../chart/scale";
import { bytes, count, number, probability, seconds, thousandths } from "../data/format";
import { markOrder, meanOf } from "../data/rows";
import type { Optimizer, Row, Task } from "../model";
import { isShown } from "../state/settings";
import { Mark } from "../ui/mark";
import { OptimizerName } from "../ui/optimizer_name";
import { Setting } from "../ui/setting";
import { SortableTable, type TableColumn } from "../ui/sortable_table";

type Column = TableColumn<Optimizer>;

export const nameColumn: Column = {
  id: "optimizer",
  title: "Optimizer",
  key: (optimizer) => optimizer.label,
  cell: (optimizer) => <OptimizerName optimizer={optimizer} />,
};

export const rhoColumn: Column = {
  id: "rho",
  title: "ρ\u00a0×\u00a01000",
  hint: "How much lower than the baseline's the least loss is, the mean over seeds; positive is better",
  numeric: true,
  first: "descending",
  key: ({ row }) => row?.rho,
  cell: ({ row }) => thousandths(row?.rho),
};

/** A column of one number; what is better comes first at the first click. */
function figure(
  id: string,
  title: string,
  hint: string,
  key: (optimizer: Optimizer) => number | null | undefined,
  words: (value: number | null | undefined) => string,
): Column {
  return { id, title, hint, numeric: true, key, cell: (optimizer) => words(key(optimizer)) };
}

function columnsOf(extent: Range, hasGap: boolean, least: number | null): Column[] {
  const columns: Column[] = [
    nameColumn,
    {
      id: "loss",
      title: "Least loss",
      hint: "Least training loss, the mean over seeds",
      numeric: true,
      key: ({ row }) => meanOf(row?.min_loss),
      cell: ({ row }) => {
        const value = meanOf(row?.min_loss);
        return value !== null && value === least ? <strong>{number(value, 6)}</strong> : number(value, 6);
      },
    },
    rhoColumn,
    {
      id: "mark",
      title: "Mark",
      hint: "By the paper's test: + better, ~ no clear difference, − worse",
      first: "descending",
      key: ({ row }) => markOrder(row?.mark),
      cell: ({ row }) => <Mark mark={row?.mark} />,
    },
    {
      id: "interval",
      title: "95\u00a0% interval of ρ\u00a0×\u00a01000",
      hint: "By the t distribution; the dashed line is 0, the baseline",
      first: "descending",
      key: ({ row }) => row?.interval?.[0],
      cell: ({ row, colour }) =>
        row && (
          <span class="interval-cell">
            <IntervalPlot row={row} extent={extent} colour={colour} />
            <span class="interval-text">{intervalText(row)}</span>
          </span>
        ),
    },
    figure(
      "p",
      "p (Holm)",
      "Two-sided t-test, adjusted for the number of comparisons",
      ({ row }) => row?.p_holm,
      probability,
    ),
  ];
  if (hasGap) {
    columns.push(
      figure(
        "gap",
        "Gap to F*",
        "Least loss less the optimum, the mean over seeds",
        ({ row }) => meanOf(row?.gap),
        (value) => number(value, 3),
      ),
    );
  }
  columns.push(
    figure("seconds", "Time", "Time of training of one run", ({ row }) => row?.seconds, seconds),
    figure("state", "State", "Memory of the optimizer's own state", ({ row }) => row?.state_bytes, bytes),
    figure("settings", "Settings", "Size of the grid", ({ row }) => row?.members, count),
    {
      id: "diverged",
      title: "Diverged",
      hint: "Settings of the grid that diverged in tuning, and measured runs that did",
      numeric: true,
      key: ({ row }) => row && row.diverged + row.measured_diverged,
      cell: ({ row }) => row && <Diverged row={row} />,
    },
    {
      id: "setting",
      title: "Chosen setting",
      hint: "! marks a value at an end of its grid",
      key: ({ setting }) => setting,
      cell: ({ setting }) => <Setting text={setting} />,
    },
  );
  return columns;
}

function Diverged({ row }: { row: Row }) {
  return (
    <>
      {count(row.diverged)}
      {row.measured_diverged > 0 && (
        <span class="diverged-runs">
          {" "}
          + {row.measured_diverged} of {row.measured} seeds
        </span>
      )}
    </>
  );
}

interface ResultsProps {
  task: Task;
  optimizers: Optimizer[];
  caption: string;
}

export function ResultsTable({ task, optimizers, caption }: ResultsProps) {
  const losses = optimizers.flatMap(({ row }) => meanOf(row?.min_loss) ?? []);
  const least = losses.length > 0 ? Math.min(...losses) : null;
  const extent = intervalExtent(optimizers.map(({ row }) => row));
  return (
    <SortableTable
      caption={caption}
      columns={columnsOf(extent, task.optimum !== null, least)}
      rows={optimizers}
      rowKey={({ label }) => label}
      rowClass={rowClass}
    />
  );
}

/** Rows follow the legend; ablations, which the legend starts without, stay readable. */
export function rowClass({ label, baseline, ablation }: Optimizer): string {
  return `${isShown(label) || ablation ? "" : "off"}${baseline ? " baseline" : ""}`;
}
