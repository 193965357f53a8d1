// SPDX-License-Identifier: MIT
// All studies of all stores: filter, order, progress, workers.
import { useSignal } from "@preact/signals";
import { count, date, plural, timeLeft } from "../data/format";
import { filterStudies, type StudyState } from "../data/filters";
import { sortBy, type Direction, type Key } from "../data/sorting";
import type { Overview, StudyEntry } from "../model";
import { Progress } from "./progress";
import { links } from "./route";
import { WorkerCard } from "./worker_card";

type Order = "created" | "name" | "progress";

const KEYS: Record<Order, { key: (study: StudyEntry) => Key; direction: Direction }> = {
  created: { key: (study) => study.created, direction: "descending" },
  name: { key: (study) => study.name, direction: "ascending" },
  progress: { key: (study) => study.part, direction: "ascending" },
};

export function StudyList({ overview }: { overview: Overview }) {
  const query = useSignal("");
  const state = useSignal<StudyState>("all");
  const order = useSignal<Order>("created");
  const { key, direction } = KEYS[order.value];
  const found = sortBy(filterStudies(overview.studies, query.value, state.value), key, direction);
  return (
    <>
      <h2>Studies</h2>
      <div class="filters" role="search">
        <label class="picker grow">
          <span>Filter</span>
          <input
            type="search"
            value={query.value}
            placeholder="name or machine"
            onInput={(event) => (query.value = event.currentTarget.value)}
          />
        </label>
        <label class="picker">
          <span>State</span>
          <select
            value={state.value}
            onChange={(event) => (state.value = event.currentTarget.value as StudyState)}
          >
            {["all", "running", "complete", "stopped"].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label class="picker">
          <span>Order</span>
          <select
            value={order.value}
            onChange={(event) => (order.value = event.currentTarget.value as Order)}
          >
            <option value="created">newest first</option>
            <option value="name">name</option>
            <option value="progress">progress</option>
          </select>
        </label>
      </div>
      <p class="soft" aria-live="polite">
        {found.length === overview.studies.length
          ? `${found.length === 1 ? "1 study" : `${found.length} studies`}.`
          : `${found.length} of ${overview.studies.length} studies.`}
      </p>
      <ul class="studies">
        {found.map((study) => (
          <StudyItem key={`${study.store} ${study.id}`} study={study} overview={overview} />
        ))}
      </ul>
      {overview.studies.length === 0 && <p class="soft">No store has a study yet.</p>}
    </>
  );
}

function StudyItem({ study, overview }: { study: StudyEntry; overview: Overview }) {
  const store = overview.stores.find(({ id }) => id === study.store);
  return (
    <li class="study-item">
      <div class="study-line">
        <h3>
          <a href={links.study(study.store, study.id)}>{study.name}</a>
        </h3>
        <span class={`state ${study.state}`}>{study.state}</span>
        <span class="soft study-left">{study.state === "running" ? timeLeft(study.seconds_left) : ""}</span>
      </div>
      <Progress part={study.part} label={`Progress of ${study.name}`} />
      <p class="facts">
        {count(study.done)} of {plural(study.units, "unit")} · {plural(study.tasks, "task")} ·{" "}
        {plural(study.members, "setting")} · {plural(study.epochs, "epoch")} · {date(study.created)}
        {store && ` · ${store.name}`}
      </p>
      {study.workers.length > 0 && (
        <div class="workers">
          {study.workers.map((worker) => (
            <WorkerCard key={worker.owner} worker={worker} epochs={study.epochs} />
          ))}
        </div>
      )}
    </li>
  );
}
