// SPDX-License-Identifier: MIT
// A stand-in for `tandem serve`: the same addresses, a study that makes progress.
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import type { Overview, Study, StudyEntry } from "../src/model";
import { pageOf, sampleRuns } from "./mock_runs";
import { bundleFolder } from "./report_file";
import { HOSTILE_IMAGE, HOSTILE_SCRIPT, sampleStudy } from "./sample";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; connect-src 'self'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tandem</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/app.css">
</head>
<body><div id="app"></div><script src="/app.js"></script></body>
</html>
`;

export interface MockServer {
  address: string;
  /** Moves the running study on by one epoch. */
  advance: () => void;
  /** Stops answering, and starts again on the same port. */
  stop: () => Promise<void>;
  start: () => Promise<void>;
}

export async function startMock(): Promise<MockServer> {
  const studies = [sampleStudy("convex", [0, 1]), sampleStudy("deep", [2]), sampleStudy(HOSTILE_SCRIPT, [0])];
  const runs = studies.map(sampleRuns);
  let epoch = 3;
  const entry = (id: number): StudyEntry => {
    const study = studies[id] as Study;
    const running = id === 1;
    return {
      store: 0,
      id,
      name: study.name,
      created: study.created + id * 3600,
      epochs: study.epochs,
      tasks: study.tasks.length,
      members: runs[id]?.runs.length ?? 0,
      units: 100,
      done: running ? Math.min(99, epoch * 4) : id === 2 ? 40 : 100,
      state: running ? "running" : id === 2 ? "stopped" : "complete",
      part: running ? Math.min(0.99, epoch * 0.04) : id === 2 ? 0.4 : 1,
      seconds_left: running ? Math.max(5, 240 - epoch * 10) : null,
      command: study.command,
      version: study.version,
      machine: study.machine,
      revision: String(running ? epoch : 1),
      workers: running ? [worker("worker-1", study, 3), worker("worker-2", study, 4)] : [],
    };
  };
  const worker = (owner: string, study: Study, which: number): StudyEntry["workers"][number] => {
    const optimizer = study.tasks[0]?.optimizers[which];
    const points = optimizer?.runs[0]?.points;
    const reached = Math.min(epoch, 20);
    return {
      owner,
      machine: "Some CPU, 2 processors",
      target: "AVX2",
      began: study.created,
      updated: study.created + epoch,
      part: reached / 20,
      seconds_left: 60 - reached,
      doing: `tuning ${optimizer?.label} on ${study.tasks[0]?.title}, epoch ${reached} of 20`,
      curve: {
        task: study.tasks[0]?.name ?? "",
        optimizer: optimizer?.label ?? "",
        seed: 0,
        alive: 412,
        options: optimizer?.row?.options ?? {},
        epoch: points?.epoch.slice(0, reached + 1) ?? [],
        train_loss: points?.train_loss.slice(0, reached + 1) ?? [],
      },
    };
  };
  const overview = (): Overview => ({
    stores: [
      { id: 0, name: "runs.db", error: null },
      { id: 1, name: `other ${HOSTILE_IMAGE}.db`, error: "the file is not a store" },
    ],
    studies: studies.map((_, id) => entry(id)),
  });

  const listeners = new Set<ServerResponse>();
  const sockets = new Set<Socket>();
  const tell = (response: ServerResponse) =>
    response.write(`event: overview\ndata: ${JSON.stringify(overview())}\n\n`);
  const answer = (url: URL, response: ServerResponse): void => {
    const path = url.pathname;
    const json = (body: unknown, status = 200) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const file = (name: string, type: string) => {
      response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": POLICY });
      response.end(name === "" ? PAGE : readFileSync(join(bundleFolder(), name)));
    };
    const [, , kind, , study, run] = path.split("/");
    const which = Number(study);
    if (path === "/") file("", "text/html; charset=utf-8");
    else if (path === "/app.js") file("app.js", "text/javascript; charset=utf-8");
    else if (path === "/app.css") file("app.css", "text/css; charset=utf-8");
    else if (path === "/api/overview") json(overview());
    else if (path === "/api/events") {
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
      listeners.add(response);
      response.on("close", () => listeners.delete(response));
      tell(response);
    } else if (kind === "studies" && studies[which]) json(studies[which]);
    else if (kind === "runs" && runs[which]) json(pageOf(runs[which], url.searchParams));
    else if (kind === "run" && runs[which]?.details[Number(run)]) json(runs[which].details[Number(run)]);
    else json({ error: "there is no such thing" }, 404);
  };

  let server: Server;
  let port = 0;
  const start = async (): Promise<void> => {
    server = createServer((request, response) =>
      answer(new URL(request.url ?? "/", "http://localhost"), response),
    );
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    });
    await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
    port = (server.address() as AddressInfo).port;
  };
  const stop = async (): Promise<void> => {
    const closed = new Promise<void>((done) => server.close(() => done()));
    sockets.forEach((socket) => socket.destroy());
    await closed;
  };
  await start();
  return {
    address: `http://127.0.0.1:${port}/`,
    advance: () => {
      epoch += 1;
      listeners.forEach(tell);
    },
    start,
    stop,
  };
}
