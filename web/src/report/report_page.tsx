// SPDX-License-Identifier: MIT
// The page of a report: one study at a time on the screen, all of them on paper.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Report, Study } from "../model";
import { printing } from "../state/settings";
import { Command } from "../ui/copy_button";
import { Paragraphs } from "../ui/paragraphs";
import { ThemeSwitch } from "../ui/theme_switch";
import { jumpTo, taskId } from "./jump";
import { StudyMade } from "./made";
import { OverviewMatrix, type StudyPart } from "./overview_matrix";
import { distinct, placeOf, placeText, visit, type Place } from "./place";
import { StudySummary, StudyTasks } from "./study_view";
import { Toolbar } from "./toolbar";

/** Where the address points to; a new value each time it is followed. */
function usePlace(studies: Study[]): Place {
  const [place, setPlace] = useState(() => placeOf(studies, window.location.hash));
  useEffect(() => {
    const read = () => setPlace(placeOf(studies, window.location.hash));
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, [studies]);
  return place;
}

export function ReportPage({ report }: { report: Report }) {
  const { studies } = report;
  const place = usePlace(studies);
  const several = studies.length > 1;
  const names = useMemo(() => distinct(studies.map(({ name }) => name)), [studies]);
  // With one study its name would only lengthen the address.
  const address = (study: number, task?: string) =>
    `#${placeText({ study: several ? names[study] : undefined, task })}`;
  const parts: StudyPart[] = studies.map((study, at) => ({
    study,
    scope: `s${at}`,
    link: (task) => address(at, task),
  }));
  const now = parts[place.study];
  useEffect(() => {
    if (now && place.task !== null) jumpTo(taskId(now.scope, place.task));
  }, [place]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), jumpTo("main"))}>
        Skip to the results
      </a>
      <header class="page-head">
        <div class="page-title">
          <h1>{report.title}</h1>
          {report.note.trim() !== "" && <Paragraphs text={report.note} />}
        </div>
        <ThemeSwitch />
      </header>
      {now && (
        <Toolbar part={now}>
          {several && (
            <label class="picker">
              <span>Study</span>
              <select
                value={String(place.study)}
                onChange={(event) => visit(address(Number(event.currentTarget.value)))}
              >
                {parts.map(({ study, scope }, at) => (
                  <option key={scope} value={String(at)}>
                    {study.name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </Toolbar>
      )}
      <main id="main" tabIndex={-1}>
        {several && (
          <section aria-labelledby="overview">
            <h2 id="overview">All studies</h2>
            <OverviewMatrix parts={parts} />
          </section>
        )}
        {parts
          .filter((part) => printing.value || part === now)
          .map((part) => (
            <section key={part.scope} class="study" aria-labelledby={`${part.scope}-name`}>
              <h2 id={`${part.scope}-name`}>{part.study.name}</h2>
              <StudySummary part={part} />
              {!several && <OverviewMatrix parts={[part]} />}
              <StudyTasks part={part} />
            </section>
          ))}
        {!now && <p class="soft">This report has no studies.</p>}
      </main>
      <footer class="page-foot">
        <h2>How this was made</h2>
        <h3>This page</h3>
        <Command text={report.command} />
        <p class="facts">
          {report.program}, {report.made}
        </p>
        {parts.map(({ study, scope }) => (
          <section key={scope} aria-label={`How ${study.name} was made`}>
            <h3>{study.name}</h3>
            <StudyMade study={study} />
          </section>
        ))}
      </footer>
    </>
  );
}
