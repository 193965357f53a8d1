// SPDX-License-Identifier: MIT
// The dashboard: what the server keeps and does, live.
import { jumpTo } from "../report/jump";
import { ThemeSwitch } from "../ui/theme_switch";
import { CompareBar } from "./compare_bar";
import { ComparePage } from "./compare_page";
import { connection, overview } from "./live";
import { links, route } from "./route";
import { RunPage } from "./run_page";
import { StudyList } from "./study_list";
import { StudyPage } from "./study_page";

export function DashboardPage() {
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), jumpTo("main"))}>
        Skip to the contents
      </a>
      <header class="page-head dashboard-head">
        <h1>
          <a href={links.list}>Tandem</a>
        </h1>
        <Connection />
        <ThemeSwitch />
      </header>
      <main id="main" tabIndex={-1}>
        <StoreErrors />
        <Page />
      </main>
    </>
  );
}

function Page() {
  const now = route.value;
  const known = overview.value;
  switch (now.page) {
    case "list":
      return known ? (
        <>
          <StudyList overview={known} />
          <CompareBar />
        </>
      ) : (
        <p class="soft">Waiting for the server…</p>
      );
    case "study":
      return <StudyPage store={now.store} study={now.study} tab={now.tab} overview={known} />;
    case "run":
      return <RunPage runKey={now.key} />;
    case "compare":
      return <ComparePage keys={now.runs} overview={known} />;
    case "unknown":
      return (
        <p class="notice">
          There is no such page. <a href={links.list}>All studies</a>
        </p>
      );
  }
}

function Connection() {
  const words = {
    connecting: "Connecting…",
    open: "Live",
    lost: "Connection lost. Trying again; what you see may be old.",
  };
  return (
    <p class={`connection ${connection.value}`} role="status">
      {words[connection.value]}
    </p>
  );
}

function StoreErrors() {
  const broken = overview.value?.stores.filter(({ error }) => error !== null) ?? [];
  return (
    <>
      {broken.map(({ id, name, error }) => (
        <p key={id} class="notice" role="alert">
          {name} cannot be read: {error}
        </p>
      ))}
    </>
  );
}
