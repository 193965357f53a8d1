// SPDX-License-Identifier: MIT
// One study: who won where, and its tasks.
import { plural } from "../data/format";
import { printing } from "../state/settings";
import { Paragraphs } from "../ui/paragraphs";
import type { StudyPart } from "./overview_matrix";
import { TaskSection } from "./task_section";

export function StudySummary({ part }: { part: StudyPart }) {
  const { study } = part;
  return (
    <div class="summary">
      <Paragraphs text={study.summary} />
      {!study.complete && <p class="notice">This study is not complete: its figures are preliminary.</p>}
      {study.pruned && (
        <p class="notice">
          Successive halving took settings out early, so there are no curves of the best of n settings.
        </p>
      )}
      <p class="facts">
        {plural(study.tasks.length, "task")} · {plural(study.epochs, "epoch")} · tuned on seed{" "}
        {study.tune_seed} · measured on {plural(study.seeds.length, "seed")}
      </p>
      {study.explanation.trim() !== "" && (
        <details class="fold" open={printing.value || undefined}>
          <summary>What the columns mean</summary>
          <Paragraphs text={study.explanation} />
        </details>
      )}
    </div>
  );
}

export function StudyTasks({ part }: { part: StudyPart }) {
  const { study, scope } = part;
  if (study.tasks.length === 0) return <p class="soft">This study has no tasks yet.</p>;
  return (
    <>
      {study.tasks.map((task, place) => (
        <TaskSection key={task.name} task={task} scope={scope} place={place} />
      ))}
    </>
  );
}
