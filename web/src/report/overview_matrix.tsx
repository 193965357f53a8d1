// SPDX-License-Identifier: MIT
// Tasks against optimizers: rho with its mark, and the paper's where it prints one.
import { NONE, thousandths } from "../data/format";
import { optimizersOf } from "../data/rows";
import type { Optimizer, Study, Task } from "../model";
import { isShown } from "../state/settings";
import { Mark, markClass } from "../ui/mark";
import { Swatch } from "../ui/swatch";
import { TableBlock } from "../ui/table_block";
import { again } from "./place";

const CAPTION =
  "ρ × 1000 against the baseline, and the mark of the paper's test: + better, ~ no clear difference, − worse.";

export interface StudyPart {
  study: Study;
  scope: string;
  /** The address of a task, from # on. */
  link: (task: string) => string;
}

export function OverviewMatrix({ parts }: { parts: StudyPart[] }) {
  const columns = new Map<string, Optimizer>();
  for (const { study } of parts) {
    for (const optimizer of optimizersOf(study)) {
      if (!optimizer.ablation && !columns.has(optimizer.label)) columns.set(optimizer.label, optimizer);
    }
  }
  const heads = [...columns.values()].sort((a, b) => Number(b.baseline) - Number(a.baseline));
  const paper = parts.some(({ study }) =>
    study.tasks.some((task) => task.optimizers.some((optimizer) => optimizer.paper)),
  );
  return (
    <TableBlock caption={paper ? `${CAPTION} The paper's own figure stands below ours.` : CAPTION}>
      <table class="matrix">
        <thead>
          <tr>
            <th scope="col">task</th>
            {heads.map((optimizer) => (
              <th scope="col" key={optimizer.label} class={isShown(optimizer.label) ? "" : "off"}>
                <Swatch colour={optimizer.colour} dash={optimizer.dash} />
                <span class="matrix-label">{optimizer.label}</span>
              </th>
            ))}
          </tr>
        </thead>
        {parts.map((part) => (
          <tbody key={part.scope}>
            {parts.length > 1 && (
              <tr class="group">
                <th scope="rowgroup" colSpan={heads.length + 1}>
                  {part.study.name}
                </th>
              </tr>
            )}
            {part.study.tasks.map((task) => (
              <tr key={task.name}>
                <th scope="row">
                  <a href={part.link(task.name)} onClick={() => again(part.link(task.name))}>
                    {task.title}
                  </a>
                </th>
                {heads.map(({ label }) => (
                  <MatrixCell key={label} task={task} label={label} />
                ))}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </TableBlock>
  );
}

function MatrixCell({ task, label }: { task: Task; label: string }) {
  const optimizer = task.optimizers.find((one) => one.label === label && !one.ablation);
  const off = isShown(label) ? "" : " off";
  if (!optimizer) return <td class={`absent${off}`} />;
  if (optimizer.baseline) return <td class={`base${off}`}>baseline</td>;
  const { row, paper } = optimizer;
  return (
    <td class={`${markClass(row?.mark)}${off}`}>
      <span class="matrix-value">
        {row?.rho === null && row.mark === "-" ? "diverged" : row ? thousandths(row.rho) : NONE}{" "}
        {row?.mark && <Mark mark={row.mark} />}
      </span>
      {paper && (
        <span class="matrix-paper">
          paper {thousandths(paper.rho)} {paper.mark && <Mark mark={paper.mark} />}
        </span>
      )}
    </td>
  );
}
