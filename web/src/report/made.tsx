// SPDX-License-Identifier: MIT
// How the figures were made: commands, machine, versions, study files.
import { date } from "../data/format";
import type { Study } from "../model";
import { printing } from "../state/settings";
import { Command } from "../ui/copy_button";

export function StudyMade({ study }: { study: Study }) {
  const facts: [string, string][] = [
    ["Machine", study.machine],
    ["Version", study.version],
    ["CPU target", study.target],
    ["Created", date(study.created)],
    ["Tuning seed", String(study.tune_seed)],
    ["Measured seeds", study.seeds.join(", ")],
  ];
  return (
    <>
      <Command text={study.command} />
      <dl class="made">
        {facts
          .filter(([, value]) => value !== "")
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {study.text.trim() !== "" && (
        <details class="fold" open={printing.value || undefined}>
          <summary>Study file</summary>
          <pre tabIndex={0}>{study.text}</pre>
        </details>
      )}
    </>
  );
}
