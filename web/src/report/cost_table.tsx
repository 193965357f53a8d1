// SPDX-License-Identifier: MIT
// The comparison again at equal cost: settings, gradient evaluations, seconds.
import { count, thousandths } from "../data/format";
import type { Optimizer, Row } from "../model";
import { SortableTable, type TableColumn } from "../ui/sortable_table";
import { nameColumn, rhoColumn, rowClass } from "./results_table";

type Cost = "rho_tuned" | "rho_budget" | "rho_evaluations" | "rho_seconds";

function rhoOf(name: Cost, title: string, hint: string): TableColumn<Optimizer> {
  const read = (row: Row | null) => row?.[name];
  return {
    id: name,
    title,
    hint,
    numeric: true,
    first: "descending",
    key: ({ row }) => read(row),
    cell: ({ row }) => <RhoCell rho={read(row)} />,
  };
}

function RhoCell({ rho }: { rho: number | null | undefined }) {
  const sign = rho === null || rho === undefined || rho === 0 ? "" : rho > 0 ? "up" : "down";
  return <span class={`signed ${sign}`}>{thousandths(rho)}</span>;
}

const columns: TableColumn<Optimizer>[] = [
  nameColumn,
  { ...rhoColumn, title: "ρ × 1000, epochs", cell: ({ row }) => <RhoCell rho={row?.rho} /> },
  rhoOf(
    "rho_evaluations",
    "at equal gradient evaluations",
    "Both may spend what the cheaper of the two spent",
  ),
  rhoOf("rho_seconds", "at equal time", "Seconds depend on the machine and on what else it did"),
  rhoOf("rho_tuned", "best settings, tuning seed", "rho of the two best settings on the tuning seed"),
  rhoOf(
    "rho_budget",
    "at equal number of settings",
    "rho of what n settings drawn at random give in the median, on the tuning seed",
  ),
  {
    id: "budget",
    title: "settings n",
    hint: "The size of the smaller of the two grids",
    numeric: true,
    key: ({ row }) => row?.budget,
    cell: ({ row }) => count(row?.budget),
  },
];

export function CostTable({ optimizers }: { optimizers: Optimizer[] }) {
  return (
    <SortableTable
      caption="ρ × 1000 at equal cost. Where the figure of the best settings is high and that at an equal number of settings is not, the size of the grid did the work."
      columns={columns}
      rows={optimizers.filter(({ baseline }) => !baseline)}
      rowKey={({ label }) => label}
      rowClass={rowClass}
    />
  );
}
