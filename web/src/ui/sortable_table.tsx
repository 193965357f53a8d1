// SPDX-License-Identifier: MIT
// A table that every column can order, by pointer and by keyboard.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { sortBy, type Direction, type Key } from "../data/sorting";
import { TableBlock } from "./table_block";

export interface Column<T> {
  id: string;
  title: ComponentChildren;
  /** What the column is, where its title is short. */
  hint?: string;
  numeric?: boolean;
  /** The way of the first click. */
  first?: Direction;
  cell: (row: T) => ComponentChildren;
}

export interface TableColumn<T> extends Column<T> {
  key: (row: T) => Key;
}

interface TableProps<T> {
  caption: string;
  columns: TableColumn<T>[];
  rows: T[];
  rowKey: (row: T) => string;
  rowClass?: (row: T) => string;
}

export interface Order {
  id: string;
  direction: Direction;
}

export function nextOrder(order: Order | null, id: string, first: Direction): Order {
  if (order?.id !== id) return { id, direction: first };
  return { id, direction: order.direction === "ascending" ? "descending" : "ascending" };
}

export function HeaderCell<T>(props: {
  column: Column<T>;
  order: Order | null;
  onOrder: (order: Order) => void;
}) {
  const { column, order, onOrder } = props;
  const sorted = order?.id === column.id ? order.direction : null;
  return (
    <th scope="col" class={column.numeric ? "number" : ""} aria-sort={sorted ?? "none"} title={column.hint}>
      <button
        type="button"
        class="sort"
        onClick={() => onOrder(nextOrder(order, column.id, column.first ?? "ascending"))}
      >
        {column.title}
        <span class="sort-mark" aria-hidden="true">
          {`\u00a0${sorted === null ? "↕" : sorted === "ascending" ? "↑" : "↓"}`}
        </span>
      </button>
    </th>
  );
}

export function SortableTable<T>({ caption, columns, rows, rowKey, rowClass }: TableProps<T>) {
  const order = useSignal<Order | null>(null);
  const column = columns.find(({ id }) => id === order.value?.id);
  const sorted = column && order.value ? sortBy(rows, column.key, order.value.direction) : rows;
  return (
    <TableBlock caption={caption}>
      <table class="data">
        <thead>
          <tr>
            {columns.map((each) => (
              <HeaderCell
                key={each.id}
                column={each}
                order={order.value}
                onOrder={(next) => (order.value = next)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={rowKey(row)} class={rowClass?.(row) ?? ""}>
              {columns.map((each, at) =>
                at === 0 ? (
                  <th scope="row" key={each.id}>
                    {each.cell(row)}
                  </th>
                ) : (
                  <td key={each.id} class={each.numeric ? "number" : ""}>
                    {each.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </TableBlock>
  );
}
