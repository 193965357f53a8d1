# SPDX-License-Identifier: MIT
"""Two processes that train one model over Gloo."""

from __future__ import annotations

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
