# SPDX-License-Identifier: MIT
"""Two processes that train one model over Gloo: what every torch has. test_sharded.py has what torch 2 adds."""

from __future__ import annotations

import copy
import os
import pathlib
import time
from typing import Callable

import pytest
import tandem
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from models import batches, loss_of, make_model, train, weights

OPTIMIZERS = {"diag-to": tandem.DiagonalTO, "ro-to": tandem.RankOneTO, "adam-to": tandem.AdamTO}


LIMIT = 120  # seconds for both processes of a test; they take less than ten


def in_group(rank: int, work: Callable[[int, str], None], folder: str) -> None:
    """What a process does: meets the other one and works."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    work(rank, folder)
    dist.barrier()
    # Not the usual way out: torch 2.13 sometimes hangs in it, because DDP's reducer waits for a thread of
    # Gloo's that waits for Python's lock.
    os._exit(0)


def run_on_two(work: Callable[[int, str], None], folder: pathlib.Path) -> None:
    """Runs work(rank, folder) on two processes. One that fails or hangs fails the test."""
    processes = mp.spawn(in_group, (work, str(folder)), nprocs=2, join=False)
    end = time.monotonic() + LIMIT
    while not processes.join(timeout=1):
        if time.monotonic() > end:
            for process in processes.processes:
                process.kill()
            pytest.fail(f"{work.__name__} took more than {LIMIT} s", pytrace=False)


def train_in_parallel(rank: int, folder: str) -> None:
    for rule, make in OPTIMIZERS.items():
        model = make_model(torch.float64, seed=rank)  # DDP makes them equal
        parallel = torch.nn.parallel.DistributedDataParallel(model)
        optimizer = make(parallel.named_parameters(), lr=0.02)
        for x, y in batches(20, torch.float64):
            half = slice(8 * rank, 8 * rank + 8)
            optimizer.zero_grad()
            loss_of(parallel, (x[half], y[half])).backward()
            optimizer.step()
        torch.save(weights(model), f"{folder}/{rule}.{rank}")


@pytest.mark.skipif(not dist.is_available(), reason="this torch has no torch.distributed")
def test_two_processes_equal_one(tmp_path: pathlib.Path) -> None:
    run_on_two(train_in_parallel, tmp_path)
    for rule, make in OPTIMIZERS.items():
        first, second = (torch.load(tmp_path / f"{rule}.{rank}") for rank in range(2))
        assert torch.equal(first, second)
        alone = make_model(torch.float64, seed=0)
        train(alone, make(alone.parameters(), lr=0.02), batches(20, torch.float64))
        torch.testing.assert_close(first, weights(alone), rtol=1e-9, atol=1e-11)


SHARDED = {
    "diag-to": (tandem.DiagonalTO, {"lr": 0.02}),
    "adam": (tandem.Adam, {"lr": 0.02}),
    "nadamw": (tandem.NAdamW, {"lr": 0.02}),
    "sgd": (tandem.SGD, {"lr": 0.02}),
    "block-to": (tandem.BlockTO, {"lr": 0.02, "block": 5}),
    "ro-to": (tandem.RankOneTO, {"lr": 0.02, "scope": "tensor"}),
    "full-to": (tandem.FullTO, {"lr": 0.02, "scope": "tensor"}),
}


def train_sharded_and_resume(rank: int, folder: str) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    data = batches(12, torch.float64)

    def make(rule: str) -> tuple[torch.nn.Module, ZeroRedundancyOptimizer]:
        cls, options = SHARDED[rule]
        model = make_model(torch.float64, seed=1)
        return model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=cls, **options)

    for rule in SHARDED:
        model, optimizer = make(rule)
        train(model, optimizer, data[:6])
        optimizer.consolidate_state_dict(to=0)
        saved = [copy.deepcopy(optimizer.state_dict()) if rank == 0 else None]
        dist.broadcast_object_list(saved, src=0)
        again, resumed = make(rule)
        again.load_state_dict(model.state_dict())
        resumed.load_state_dict(saved[0])
        train(model, optimizer, data[6:])
        train(again, resumed, data[6:])
        assert torch.equal(weights(model), weights(again)), rule
        torch.save(weights(model), f"{folder}/{rule}.{rank}")
    # A matrix over several parameters would be one over those of a rank.
    for cls in (tandem.RankOneTO, tandem.FullTO):
        with pytest.raises(RuntimeError, match='inside ZeroRedundancyOptimizer.*scope="tensor"'):
            ZeroRedundancyOptimizer(model.parameters(), optimizer_class=cls, lr=0.02)
        cls(model.parameters(), lr=0.02)  # is not disturbed beside it


@pytest.mark.skipif(not dist.is_available(), reason="this torch has no torch.distributed")
def test_zero_redundancy_equals_one_process_and_resumes(tmp_path: pathlib.Path) -> None:
    run_on_two(train_sharded_and_resume, tmp_path)
    for rule, (cls, options) in SHARDED.items():
        first, second = (torch.load(tmp_path / f"{rule}.{rank}") for rank in range(2))
        assert torch.equal(first, second)
        alone = make_model(torch.float64, seed=1)
        train(alone, cls(alone.parameters(), **options), batches(12, torch.float64))
        assert torch.equal(first, weights(alone)), rule
