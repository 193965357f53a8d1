// SPDX-License-Identifier: MIT
// A study of the dashboard: the view of a report, kept up to date, and its runs.
import { useEffect, useMemo } from "preact/hooks";
import { date, timeLeft } from "../data/format";
import type { Overview, StudyEntry } from "../model";
import { StudyMade } from "../report/made";
import { jumpTo, taskId } from "../report/jump";
import { OverviewMatrix, type StudyPart } from "../report/overview_matrix";
import { taskPlace } from "../report/place";
import { StudySummary, StudyTasks } from "../report/study_view";
import { Toolbar } from "../report/toolbar";
import { meet } from "../state/settings";
import { api } from "./api";
import { useFresh } from "./fresh";
import { Progress } from "./progress";
import { links, route } from "./route";
import { RunsTab } from "./runs_tab";
import { WorkerCard } from "./worker_card";

interface StudyPageProps {
  store: number;
  study: number;
  tab: "results" | "runs";
  overview: Overview | null;
}

export function StudyPage({ store, study, tab, overview }: StudyPageProps) {
  const entry = overview?.studies.find((one) => one.store === store && one.id === study);
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <a href={links.list}>All studies</a>
      </nav>
      <h2>{entry?.name ?? `Study ${study}`}</h2>
      {entry && <StudyProgress entry={entry} />}
      <nav class="tabs" aria-label="Parts of the study">
        <a href={links.study(store, study)} aria-current={tab === "results" ? "page" : undefined}>
          Results
        </a>
        <a href={links.runs(store, study)} aria-current={tab === "runs" ? "page" : undefined}>
          Runs
        </a>
      </nav>
      {tab === "results" ? (
        <Results key={`${store} ${study}`} store={store} study={study} revision={entry?.revision} />
      ) : (
        <RunsTab key={`${store} ${study}`} store={store} study={study} revision={entry?.revision} />
      )}
    </>
  );
}

function StudyProgress({ entry }: { entry: StudyEntry }) {
  return (
    <>
      <div class="study-line">
        <span class={`state ${entry.state}`}>{entry.state}</span>
        <span class="soft">
          {entry.state === "running" ? timeLeft(entry.seconds_left) : `created ${date(entry.created)}`}
        </span>
      </div>
      <Progress part={entry.part} label={`Progress of ${entry.name}`} />
      {entry.workers.length > 0 && (
        <div class="workers">
          {entry.workers.map((worker) => (
            <WorkerCard key={worker.owner} worker={worker} epochs={entry.epochs} />
          ))}
        </div>
      )}
    </>
  );
}

function Results({ store, study, revision }: { store: number; study: number; revision: string | undefined }) {
  const scope = `d${store}-${study}`;
  const { data, error } = useFresh(scope, revision, () => api.study(store, study));
  useEffect(() => {
    if (data) meet([data]);
  }, [data]);
  // The overview changes often; what it does not touch is not gone through again.
  const shown = useMemo(() => {
    const link = (task: string) => links.task(store, study, task);
    return data && <StudyResults part={{ study: data, scope, link }} />;
  }, [data]);
  if (!data) return <p class={error ? "notice" : "soft"}>{error ?? "Fetching the study…"}</p>;
  return (
    <>
      {error && <p class="notice">The newest figures cannot be fetched: {error}</p>}
      {shown}
    </>
  );
}

function StudyResults({ part }: { part: StudyPart }) {
  const { study, scope } = part;
  const now = route.value;
  // New figures of the study are no reason to go there again.
  useEffect(() => {
    const place = now.page === "study" ? taskPlace(study, now.task) : null;
    if (place !== null) jumpTo(taskId(scope, place));
  }, [now]);
  return (
    <>
      <Toolbar part={part} />
      <StudySummary part={part} />
      {study.tasks.length > 0 && <OverviewMatrix parts={[part]} />}
      <StudyTasks part={part} />
      <section aria-labelledby="made">
        <h3 id="made">How this was made</h3>
        <StudyMade study={study} />
      </section>
    </>
  );
}
