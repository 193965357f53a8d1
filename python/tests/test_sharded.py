# SPDX-License-Identifier: MIT
"""Training on several processes: DDP, FSDP2, ZeroRedundancyOptimizer, distributed checkpoints.

Each test starts a script of sharded/ with torchrun: Gloo, on the CPU, one thread a process.
"""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="sharded training needs torch")
if int(torch.__version__.split(".")[0]) < 2:
    pytest.skip(
        f"FSDP2 and distributed checkpoints need torch 2, this is {torch.__version__}; "
        "test_distributed.py has DDP and ZeroRedundancyOptimizer",
        allow_module_level=True,
    )
pytest.importorskip("torch.distributed.fsdp", reason="this torch has no torch.distributed.fsdp")
if not hasattr(torch.distributed.fsdp, "fully_shard"):
    pytest.skip(f"torch {torch.__version__} has no fully_shard", allow_module_level=True)

SCRIPTS = pathlib.Path(__file__).resolve().parent / "sharded"
LIMIT = 300  # seconds; a script ends itself after 240 and says where it was


def launch(script: str, *arguments: object, processes: int = 2) -> str:
    """Runs the script on several processes, and gives what it printed."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]  # on a free port
    command += ["--nproc-per-node", str(processes), str(SCRIPTS / script), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["GLOO_SOCKET_IFNAME"] = "lo"
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)  # torchrun then ends its processes
            try:
                out, err = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
            pytest.fail(f"{script} took more than {LIMIT} s\n{out}\n{err}", pytrace=False)
    if process.returncode != 0:
        ours = err.split("torch/distributed/elastic/multiprocessing")[0]  # not torchrun's own trace
        pytest.fail(f"{script} ended with {process.returncode}\n{out}\n{ours}", pytrace=False)
    print(out)
    return out


def test_ddp() -> None:
    launch("ddp.py")


def test_fsdp2() -> None:
    launch("fsdp2.py")


def test_rank_one_over_the_whole_model() -> None:
    launch("rank_one.py")


def test_a_mesh_of_two_dimensions() -> None:
    launch("mesh.py", processes=4)


def test_what_is_refused() -> None:
    launch("refused.py")


def test_zero_redundancy_optimizer(tmp_path: pathlib.Path) -> None:
    launch("zero.py", tmp_path)


def test_distributed_checkpoint(tmp_path: pathlib.Path) -> None:
    launch("checkpoint.py", tmp_path)
    launch("checkpoint.py", tmp_path, processes=1)
