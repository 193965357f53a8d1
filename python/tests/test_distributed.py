# SPDX-License-Identifier: MIT
"""Two processes that train one model over Gloo: what every torch has. test_sharded.py has what torch 2 adds."""

from __future__ import annotations

import copy
import pathlib

import pytest
import tandem
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from models import batches, loss_of, make_model, train, weights

OPTIMIZERS = {"diag-to": tandem.DiagonalTO, "ro-to": tandem.RankOneTO, "adam-to": tandem.AdamTO}


def worker(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
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
    dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_available(), reason="this torch has no torch.distributed")
def test_two_processes_equal_one(tmp_path: pathlib.Path) -> None:
    mp.spawn(worker, (str(tmp_path),), nprocs=2)
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


def sharding_worker(rank: int, folder: str) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
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
    dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_available(), reason="this torch has no torch.distributed")
def test_zero_redundancy_equals_one_process_and_resumes(tmp_path: pathlib.Path) -> None:
    mp.spawn(sharding_worker, (str(tmp_path),), nprocs=2)
    for rule, (cls, options) in SHARDED.items():
        first, second = (torch.load(tmp_path / f"{rule}.{rank}") for rank in range(2))
        assert torch.equal(first, second)
        alone = make_model(torch.float64, seed=1)
        train(alone, cls(alone.parameters(), **options), batches(12, torch.float64))
        assert torch.equal(first, weights(alone)), rule
