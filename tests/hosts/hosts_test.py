#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The five commands of docs/postgres.md: a study on three hosts that share a server, while a host is lost, another
one's network is down for a while, and the server restarts. The rows are those of one process with a file.

    hosts_test.py PROGRAM

Started by hosts_test.sh as root, in namespaces of its own: this one is the server's host.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SERVER = "10.98.0.1"
HOSTS = ["node1", "node2", "node3"]
URL = f"postgresql://postgres@{SERVER}/runs"

# Units of about two seconds on one thread.
STUDY = """name = "hosts"
epochs = 600
seeds = [1, 2, 3]
[[task]]
data = "synthetic:rows=6000,features=40,classes=5,noise=0.1,seed=5"
lambda = [0.1, 0.01, 0.001]
batch = 20
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1, 0.001]
[[optimizer]]
name = "momentum"
lr = [0.01, 0.1]
[[optimizer]]
name = "diag-to"
lr = [0.02, 0.2, 1e8]
alpha = [0, 0.1]
[[optimizer]]
name = "ro-to"
lr = [0.02, 0.2]
alpha = [0, 0.1]
"""


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False, **more)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {result.returncode}: {result.stderr}{result.stdout}")
    return result.stdout


def connect_hosts():
    """A switch on the server's host, and a cable to each of the others."""
    run("ip", "link", "add", "switch", "type", "bridge")
    run("ip", "address", "add", f"{SERVER}/24", "dev", "switch")
    run("ip", "link", "set", "switch", "up")
    for i, host in enumerate(HOSTS):
        run("ip", "netns", "add", host)
        run("ip", "link", "add", f"to-{host}", "type", "veth", "peer", "name", "eth0", "netns", host)
        run("ip", "link", "set", f"to-{host}", "master", "switch", "up")
        run("ip", "-n", host, "address", "add", f"10.98.0.{i + 2}/24", "dev", "eth0")
        run("ip", "-n", host, "link", "set", "eth0", "up")
        run("ip", "-n", host, "link", "set", "lo", "up")


class Server:
    def __init__(self, folder):
        self.folder = folder
        self.nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]  # it refuses root
        folder.mkdir()
        shutil.chown(folder, 65534, 65534)
        self.data = folder / "data"
        run(*self.nobody, "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N", cwd=folder)
        with open(self.data / "pg_hba.conf", "a") as rules:
            rules.write("host all all 10.98.0.0/24 trust\n")
        self.start()

    def start(self):
        options = ["-k", str(self.folder), "-c", f"listen_addresses={SERVER}", "-c", "fsync=off"]
        log = open(self.folder / "log", "ab")  # noqa: SIM115 - the server's
        self.process = subprocess.Popen(
            [*self.nobody, shutil.which("postgres"), "-D", self.data, *options], stdout=log, stderr=log, cwd=self.folder
        )
        state = self.data / "postmaster.pid"
        while not (state.exists() and "ready" in state.read_text()):
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGINT)  # ends its sessions
        self.process.wait()


class Test:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.study = folder / "study.toml"
        self.study.write_text(STUDY)

    def tandem(self, *arguments):
        return run(self.program, *arguments, cwd=self.folder)

    def start(self, host):
        """`ssh HOST tandem study ...`: a host has a name and a network of its own."""
        command = 'hostname "$1"; shift; exec "$@"'
        study = [self.program, "study", self.study, "--store", URL, "--threads", "1", "--lease", "3"]
        log = open(self.folder / f"{host}.log", "ab")  # noqa: SIM115 - the process's
        return subprocess.Popen(
            ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c", command, "sh", host, *study],
            stdout=log,
            stderr=log,
            cwd=self.folder,
        )

    def done(self):
        try:
            listed = self.tandem("runs", "list", "--json", "--store", URL).splitlines()
        except RuntimeError:
            return 0  # the first process is about to make the tables
        return json.loads(listed[0])["done"] if listed else 0

    def wait_for(self, units):
        end = time.monotonic() + 120
        while self.done() < units:
            if time.monotonic() > end:
                raise TimeoutError(f"waited 120 s for {units} units")
            time.sleep(0.1)

    def wait_for_host(self, host, seen_before):
        """Until a process of the host is at work that was not there before, or the study is done."""
        end = time.monotonic() + 120
        while not any(
            worker["owner"] not in seen_before and worker["owner"].startswith(host + ":") for worker in self.dashboard()
        ):
            listed = json.loads(self.tandem("runs", "list", "--json", "--store", URL).splitlines()[0])
            if listed["done"] == listed["units"]:
                raise RuntimeError("the study was done before the server could be stopped: it is too short")
            if time.monotonic() > end:
                raise TimeoutError(f"waited 120 s for a process of {host}")

    def rows(self, store):
        """All that was measured, but the time, and what numbers a store gives its rows."""
        rows = [json.loads(line) for line in self.tandem("export", "jsonl", "--grid", "--store", store).splitlines()]
        for row in rows:
            for column in ("study", "run", "seconds"):
                del row[column]
        return [json.dumps(row) for row in rows]

    def logs(self):
        return "\n".join(f"==== {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in self.folder.glob("*.log"))

    def dashboard(self):
        """What `tandem serve` says of the workers."""
        serve = subprocess.Popen(
            [self.program, "serve", "--store", URL, "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
        )
        try:
            address = json.loads(serve.stdout.readline())
            with urllib.request.urlopen(address["address"] + "api/overview") as answer:
                return json.load(answer)["studies"][0]["workers"]
        finally:
            serve.terminate()
            serve.wait()


def the_five_commands(test, server):
    run("createdb", "--host", SERVER, "--username", "postgres", "--encoding", "UTF8", "--template", "template0", "runs")
    workers = {host: test.start(host) for host in HOSTS}
    test.wait_for(3)
    seen_before = {worker["owner"] for worker in test.dashboard()}
    assert {owner.split(":")[0] for owner in seen_before} == set(HOSTS), seen_before

    # A host is lost, with what it had in work, and comes back.
    workers["node3"].kill()
    workers["node3"].wait()
    workers["node3"] = test.start("node3")
    # Another one's cable is pulled for longer than its lease.
    run("ip", "link", "set", "to-node2", "down")
    time.sleep(5)
    run("ip", "link", "set", "to-node2", "up")
    # A process that starts while the server is away ends with an error, so node3 must be at work.
    test.wait_for_host("node3", seen_before)
    server.stop()
    time.sleep(2)
    server.start()
    for host, worker in workers.items():
        code = worker.wait(180)
        assert code == 0, f"{host}: exit code {code}"
    assert len(test.tandem("report", "--store", URL)) > 500


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="tandem-hosts-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        connect_hosts()
        server = Server(folder / "server")
        test = Test(program, folder)
        try:
            the_five_commands(test, server)
            test.tandem("study", test.study, "--store", "alone.db", "-q")
            alone, shared = test.rows("alone.db"), test.rows(URL)
            assert len(alone) > 1000, len(alone)
            assert shared == alone, "the rows are not those of one process"
            print(f"{len(alone)} rows of three hosts equal those of one process")
        except Exception:
            print(test.logs(), file=sys.stderr)
            raise
        finally:
            server.stop()


if __name__ == "__main__":
    main()
