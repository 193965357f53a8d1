// SPDX-License-Identifier: MIT
// The values of a chart as a table.
import { number, short } from "../data/format";
import type { LineFigure, Series } from "./figure";

const MOST_ROWS = 200;

function sameX(shown: Series[]): boolean {
  const first = shown[0]?.curve.x;
  return shown.every(
    ({ curve }) => curve.x.length === first?.length && curve.x.every((x, at) => x === first[at]),
  );
}

/** Places spread evenly over a length, both ends among them. */
export function spread(length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, at) => at);
  return Array.from({ length: most }, (_, at) => Math.round((at * (length - 1)) / (most - 1)));
}

export function DataTable({ figure, shown }: { figure: LineFigure; shown: Series[] }) {
  const shared = sameX(shown);
  const length = Math.max(0, ...shown.map(({ curve }) => curve.x.length));
  const places = spread(length, MOST_ROWS);
  return (
    <div class="table-scroll data-table" tabIndex={0} role="group" aria-label={`Values of ${figure.title}`}>
      <table>
        <caption>
          {figure.yLabel}
          {places.length < length && `; ${places.length} of ${length} points, evenly spread`}
        </caption>
        <thead>
          <tr>
            {shared && <th scope="col">{figure.xLabel}</th>}
            {shown.flatMap(({ label }) => [
              !shared && (
                <th scope="col" key={`${label} x`}>
                  {label}: {figure.xLabel}
                </th>
              ),
              <th scope="col" key={label}>
                {label}
              </th>,
            ])}
          </tr>
        </thead>
        <tbody>
          {places.map((at) => (
            <tr key={at}>
              {shared && <th scope="row">{short(shown[0]?.curve.x[at], 6)}</th>}
              {shown.flatMap(({ label, curve }) => [
                !shared && <td key={`${label} x`}>{short(curve.x[at], 6)}</td>,
                <td key={label}>{number(curve.y[at], 6)}</td>,
              ])}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
