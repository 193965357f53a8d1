#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers of scripts/slurm-study on a real Slurm while one is cancelled, one loses its node and goes on without it, one
is preempted, and one comes to its time limit: all studies have the rows of an undisturbed process.

    slurm_study_test.py PROGRAM [--store URL]

Started by slurm_test.sh. URL is %s with the name of a store; default: files in a temporary folder.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import SLOTS, Cluster, wait_for

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "slurm-study"

# Units of about half a second on one thread.
STUDY = """
epochs = 50
seeds = [1, 2]
[[task]]
data = "synthetic:rows=6000,features=40,classes=5,noise=0.1,seed=5"
lambda = [0.1, 0.01]
batch = 20
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1, 0.001]
[[optimizer]]
name = "diag-to"
lr = [0.02, 0.2, 1e8]
alpha = [0, 0.1]
"""


class Test:
    def __init__(self, program, url, folder):
        self.program = program
        self.folder = Path(folder)
        self.url = url or f"{folder}/%s.db"
        self.cluster = Cluster(folder)
        self.cluster.environment["TANDEM"] = program
        self.studies = 0

    def tandem(self, *arguments):
        command = [self.program, *arguments]
        result = subprocess.run(command, text=True, capture_output=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit code {result.returncode}: {result.stderr}")
        return result.stdout

    def study_file(self, name):
        path = self.folder / f"{name}.toml"
        path.write_text(f'name = "{name}"\n{STUDY}')
        return str(path)

    def add_study(self):
        self.studies += 1
        self.tandem("study", self.study_file(f"s{self.studies}"), "--add", "-q", "--store", self.url % "runs")

    def units(self):
        """Left, of all studies."""
        listed = [json.loads(line) for line in self.tandem("runs", "list", "--json", "--store", self.url % "runs").splitlines()]
        return sum(study["units"] - study["done"] for study in listed)

    def rows(self, store, name):
        """All that was measured, but the time, and what numbers a store gives its rows."""
        return self.timeless(
            self.tandem("export", "jsonl", "--grid", "--study", name, "--store", self.url % store)
        )

    @staticmethod
    def timeless(exported):
        rows = [json.loads(line) for line in exported.splitlines()]
        for row in rows:
            for column in ("study", "run", "seconds"):
                del row[column]
        return [json.dumps(row) for row in rows]

    def submit(self, workers, *options, arguments=None, grace=1):
        environment = {"SLURM_STUDY_GRACE": str(grace), "PATH": os.environ["PATH"]}
        return self.cluster.run(
            "env",
            *(f"{name}={value}" for name, value in environment.items()),
            str(SCRIPT), str(workers), "--cpus-per-task=1", *options, "--",
            *(arguments or ["--worker", "--wait", "--store", self.url % "runs"]),
            cwd=self.folder,
        ).strip()  # fmt: skip

    def running(self, job, number, restarts=0, elsewhere=None):
        state, node, restarted = self.cluster.tasks(job).get(number, ("", None, 0))
        return state == "RUNNING" and restarted >= restarts and node != elsewhere and node

    def keep_busy(self, what, condition, seconds=150):
        """Waits, and gives the workers more studies meanwhile."""

        def look():
            if self.units() < 12:
                self.add_study()
            return condition()

        return wait_for(what, look, seconds)

    def run(self):
        self.tandem("study", self.study_file("alone"), "-q", "--store", self.url % "alone")
        expected = self.rows("alone", "alone")
        assert len(expected) > 100, len(expected)
        self.add_study()
        self.cluster.start()

        job = self.submit(4)
        limited = self.submit(1, "--time=1", grace=50)
        for number in (1, 2, 3, 4):
            self.keep_busy("four workers", lambda number=number: self.running(job, number))
        before = self.units()
        self.keep_busy("units that are done", lambda: self.units() < before)

        tasks = self.cluster.tasks(job)
        killed = tasks[1][1]
        lost = [number for number, task in tasks.items() if task[1] == killed]
        others = [number for number in tasks if number not in lost]
        cancelled, preempted = others
        self.cluster.kill_node(killed)
        self.cluster.run("scancel", f"{job}_{cancelled}")
        whole_node = [f"--ntasks={SLOTS}", "--nodes=1", f"--nodelist={tasks[preempted][1]}", "--wrap", "sleep 1"]
        self.cluster.run("sbatch", "--partition=high", "--output=/dev/null", *whole_node)

        self.keep_busy("the cancelled worker's end", lambda: self.cluster.tasks(job)[cancelled][0] == "CANCELLED")
        self.keep_busy("the preempted worker", lambda: self.running(job, preempted, restarts=1))
        self.keep_busy("the worker at its limit", lambda: self.running(limited, 1, restarts=1))
        for number in lost:
            self.keep_busy("workers of the lost node", lambda number=number: self.running(job, number, 1, killed))
        # The lost node's own workers know nothing of it.
        orphans = self.workers_on(killed)
        assert len(orphans) == len(lost), f"{orphans} and {lost}"

        wait_for("the end of all units", lambda: self.units() == 0, 180)
        self.cluster.run("scancel", job, limited)
        for number in range(1, self.studies + 1):
            assert self.rows("runs", f"s{number}") == expected, f"study {number} has other rows"
        self.run_parts(expected)
        for log in self.folder.glob(f"tandem-study-{job}_*.log"):
            text = log.read_text()
            assert "interrupted" in text or log.name.endswith(tuple(f"_{n}.log" for n in lost)), f"{log}: {text}"
        print(
            f"{self.studies} studies of {len(expected)} rows; a node was killed under {len(lost)} workers, one was "
            "cancelled, one preempted, one came to its time limit"
        )

    def run_parts(self, expected):
        """Workers that share no store."""
        stores = [f"{self.folder}/part-{number}.db" for number in (1, 2)]
        parts = ["--part", "%a/%c", "--store", f"{self.folder}/part-%a.db"]
        job = self.submit(2, arguments=[self.study_file("alone"), *parts])
        done = [("COMPLETED", 0), ("COMPLETED", 0)]
        wait_for("both parts", lambda: [(task[0], task[2]) for task in self.cluster.tasks(job).values()] == done)
        self.tandem("runs", "merge", *stores, "--store", f"{self.folder}/merged.db")
        text = self.tandem("export", "jsonl", "--grid", "--store", f"{self.folder}/merged.db")
        assert self.timeless(text) == expected, "the merged parts have other rows"

    @staticmethod
    def workers_on(node):
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
                command = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"SLURMD_NODENAME={node}".encode() in environment and b"--worker" in command and b"study" in command[1:2]:
                found.append(int(process.name))
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--store")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tandem-slurm-") as folder:
        os.chmod(folder, 0o755)  # munge's socket is in it
        test = Test(os.path.abspath(options.program), options.store, folder)
        began = time.monotonic()
        try:
            test.run()
        except Exception:
            print(test.cluster.logs(), file=sys.stderr)
            raise
        finally:
            test.cluster.stop()
        print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
