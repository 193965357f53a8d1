#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much a study is slowed down by viewers of the dashboard.

    bench/viewers.py [--program build-release/tandem] [--viewers 50] [--repeats 5] [--epochs 60]

Runs the same study in turns alone, and with `tandem serve` and viewers that do what the page does: follow the events,
and fetch the study when it changed, at most every five seconds. Prints a line of JSON. Times of a run differ by more than
the viewers' part on most machines, so it tells too which share of all cores' time the server took, and the viewers of this
script, which real ones take elsewhere or in a browser.
"""
import argparse
import http.client
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import threading
import time

STUDY = """
name = "watched"
epochs = {epochs}
seeds = [1, 2, 3]
[[task]]
data = "synthetic:rows=20000,features=200,classes=10,noise=0.1"
lambda = 0.001
[[optimizer]]
name = "adam"
baseline = true
lr = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3]
decay = [1, 0.95]
[[optimizer]]
name = "diag-to"
lr = [0.01, 0.05, 0.1]
alpha = [0, 0.01]
beta = [0.1, 0.5]
"""


class Viewer:
    """One open page."""

    def __init__(self, port):
        self.port, self.events, self.bytes = port, 0, 0
        self.open = True
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        return connection.getresponse()

    def look(self):
        seen, fetched = None, 0.0
        try:
            stream = self.get("/api/events")
            while self.open:
                line = stream.readline()
                if not line.startswith(b"data: "):
                    continue
                self.events += 1
                studies = json.loads(line[6:])["studies"]
                study = next((one for one in studies if one["name"] == "watched"), None)
                if study and study["revision"] != seen and time.monotonic() - fetched > 5:
                    seen, fetched = study["revision"], time.monotonic()
                    self.bytes += len(self.get(f"/api/studies/0/{study['id']}").read())
        except (OSError, http.client.HTTPException, ValueError):
            pass  # the server has ended


def share(now, before, seconds):
    """Of the time of all cores."""
    used = now.ru_utime + now.ru_stime - (before.ru_utime + before.ru_stime if before else 0)
    return used / seconds / os.cpu_count()


def run(program, folder, viewers, repeat):
    store = folder / f"{viewers}-{repeat}.db"
    study = [program, "study", str(folder / "study.toml"), "--store", str(store), "-q"]
    server, looking, shares = None, [], (0, 0)
    if viewers:
        # The store is there before anybody looks at it.
        subprocess.run(study[:-1] + ["--dry-run"], check=True, capture_output=True)
        subprocess.run([program, "runs", "merge", str(folder / "empty.db"), "--store", str(store), "-q"], check=True)
        server = subprocess.Popen(
            [program, "serve", "--store", str(store), "--port", "0", "--json"], stdout=subprocess.PIPE, text=True)
        port = int(json.loads(server.stdout.readline())["address"].rsplit(":", 1)[1].strip("/"))
        looking = [Viewer(port) for _ in range(viewers)]
        time.sleep(1)
    mine = resource.getrusage(resource.RUSAGE_SELF)
    began = time.monotonic()
    subprocess.run(study, check=True, capture_output=True)
    seconds = time.monotonic() - began
    if server:
        for viewer in looking:
            viewer.open = False
        server.terminate()
        used = os.wait4(server.pid, 0)[2]
        shares = (share(used, None, seconds), share(resource.getrusage(resource.RUSAGE_SELF), mine, seconds))
    return seconds, sum(v.events for v in looking), sum(v.bytes for v in looking), shares


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build-release/tandem")
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "study.toml").write_text(STUDY.format(epochs=options.epochs))
        tiny = STUDY.format(epochs=1).replace("rows=20000", "rows=100").replace("watched", "other")
        (folder / "tiny.toml").write_text(tiny)
        subprocess.run([options.program, "study", str(folder / "tiny.toml"), "--store", str(folder / "empty.db"), "-q"],
                       check=True, capture_output=True)
        alone, watched, shares, events, sent = [], [], [], 0, 0
        for repeat in range(options.repeats):
            alone.append(run(options.program, folder, 0, repeat)[0])
            seconds, more_events, more_sent, taken = run(options.program, folder, options.viewers, repeat)
            watched.append(seconds)
            shares.append(taken)
            events, sent = events + more_events, sent + more_sent
        slower = [w / a - 1 for a, w in zip(alone, watched)]
        print(json.dumps({
            "viewers": options.viewers,
            "repeats": options.repeats,
            "seconds_alone": round(statistics.median(alone), 2),
            "seconds_watched": round(statistics.median(watched), 2),
            "slower_percent": round(100 * statistics.median(slower), 2),
            "slower_percent_each": [round(100 * s, 1) for s in slower],
            "server_percent_of_cores": round(100 * statistics.median(s for s, _ in shares), 2),
            "viewers_percent_of_cores": round(100 * statistics.median(v for _, v in shares), 2),
            "events_a_viewer": round(events / options.viewers / options.repeats, 1),
            "megabytes_sent": round(sent / 1e6, 1),
        }))


if __name__ == "__main__":
    main()
