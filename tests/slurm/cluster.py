# SPDX-License-Identifier: MIT
"""A Slurm of one controller and several nodes on this machine, in a folder, as root in namespaces of its own.

The namespaces are the caller's (slurm_test.sh): Slurm wants an address that is no loopback, and daemons and jobs
that are left over end with the process namespace.
"""

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

ADDRESS = "10.99.0.1"
SLOTS = 2  # jobs that a node runs at once

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}({address})
SlurmUser=root
MailProg=/bin/true
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A job that was started in vain may start again when its credential is void.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort=6817
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool-%n
# Without cgroups: what descends from a job's script is the job.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=100000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout={silence}
KillWait=5
MinJobAge=300
MaxArraySize=100
{nodes}
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=5 State=UP
PartitionName=high Nodes=ALL PriorityTier=10 State=UP
"""


def wait_for(what, condition, seconds=60):
    """Asks until the condition gives something true, and returns it."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.1)


class Cluster:
    def __init__(self, folder, nodes=3, silence=8):
        self.folder = Path(folder)
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.daemons = {}
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))
        (self.folder / "state").mkdir()
        host = socket.gethostname()
        lines = []
        for i, node in enumerate(self.nodes):
            (self.folder / f"spool-{node}").mkdir()
            lines.append(
                f"NodeName={node} NodeAddr={ADDRESS} NodeHostname={host} Port={17001 + i} CPUs={SLOTS} State=UNKNOWN"
            )
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(host=host, address=ADDRESS, folder=self.folder, nodes="\n".join(lines), silence=silence)
        )

    def start(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [f"--{what}-file={self.folder}/munge.{what}" for what in ("key", "pid", "seed", "log")]
        self._daemon("munged", "munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *files)
        wait_for("munge", (self.folder / "munge.socket").exists)
        self._daemon("slurmctld", "slurmctld", "-D")
        for node in self.nodes:
            self.start_node(node)
        wait_for("the nodes", lambda: list(self.node_states().values()) == ["IDLE"] * len(self.nodes))

    def start_node(self, node):
        self._daemon(node, "slurmd", "-D", "-N", node)

    def kill_node(self, node):
        """The daemon alone: what it started goes on, as when a node is cut off from the controller."""
        daemon = self.daemons.pop(node)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()

    def stop(self):
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def run(self, *command, check=True, **more):
        result = subprocess.run(command, env=self.environment, text=True, capture_output=True, check=False, **more)
        if check and result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit code {result.returncode}: {result.stderr}{result.stdout}")
        return result.stdout

    def node_states(self):
        """IDLE, MIXED, DOWN*, ... by name."""
        text = self.run("scontrol", "show", "nodes", "--oneliner", check=False)
        return {name: state for name, state in re.findall(r"NodeName=(\S+).*? State=(\S+)", text)}

    def tasks(self, job):
        """Of an array: number -> (state, node, restarts)."""
        text = self.run("scontrol", "show", "job", str(job), "--oneliner", check=False)
        found = {}
        for line in text.splitlines():
            facts = dict(re.findall(r"(\w+)=(\S*)", line))
            if facts.get("ArrayTaskId", "").isdigit():
                found[int(facts["ArrayTaskId"])] = (facts["JobState"], facts.get("BatchHost"), int(facts["Restarts"]))
        return found

    def logs(self):
        return "\n".join(
            f"==== {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in sorted(self.folder.glob("*.log"))
        )

    def _daemon(self, name, program, *arguments):
        path = next(p for p in (f"/usr/sbin/{program}", f"/usr/bin/{program}", program) if Path(p).exists())
        log = open(self.folder / f"{name}.out.log", "ab")  # noqa: SIM115 - the daemon's
        self.daemons[name] = subprocess.Popen([path, *arguments], env=self.environment, stdout=log, stderr=log)
