# SPDX-License-Identifier: MIT
"""Two processes that train one model over Gloo."""

from __future__ import annotations

import copy
import pathlib
import pickle

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


def sharding_worker(rank: int, folder: str) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    model = make_model(torch.float64, seed=1)
    with pytest.raises(RuntimeError, match="DiagonalTO cannot be sharded by ZeroRedundancy.*lose"):
        ZeroRedundancyOptimizer(model.parameters(), optimizer_class=tandem.DiagonalTO, lr=0.02)
    # torch's own is not disturbed, nor is ours beside it.
    ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.02)
    tandem.DiagonalTO(model.parameters(), lr=0.02)
    dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_available(), reason="this torch has no torch.distributed")
def test_sharding_wrappers_are_refused(tmp_path: pathlib.Path) -> None:
    mp.spawn(sharding_worker, (str(tmp_path),), nprocs=2)


# ---- What such wrappers do, done by hand ---------------------------------------------------------


def trained() -> tuple[torch.nn.Module, tandem.Optimizer]:
    model = make_model(torch.float64, seed=1)
    optimizer = tandem.DiagonalTO(model.parameters(), lr=0.02)
    train(model, optimizer, batches(5, torch.float64))
    return model, optimizer


def test_state_without_our_part_is_refused() -> None:
    model, optimizer = trained()
    whole = optimizer.state_dict()
    picked = {key: whole[key] for key in ("state", "param_groups")}
    before = optimizer.state_dict()
    with pytest.raises(ValueError, match="dropped 'tandem'"):
        optimizer.load_state_dict(picked)
    assert str(optimizer.state_dict()) == str(before)
    fresh = tandem.DiagonalTO(model.parameters(), lr=0.02)
    with pytest.raises(ValueError, match="dropped 'tandem'"):
        fresh.load_state_dict(picked)


def test_state_cannot_be_put_into_the_optimizer() -> None:
    model, optimizer = trained()
    parameter = next(model.parameters())
    writes = (
        lambda: optimizer.state.__setitem__(parameter, {"a": torch.zeros(1)}),
        lambda: optimizer.state.update({parameter: {}}),
        lambda: optimizer.state.setdefault(parameter, {}),
        lambda: optimizer.state[parameter].update(a=torch.zeros(1)),
        lambda: optimizer.state[parameter].__setitem__("a", torch.zeros(1)),
    )
    for write in writes:
        with pytest.raises(RuntimeError, match="cannot be written.*load_state_dict"):
            write()
    assert not optimizer.state and not optimizer.state[parameter]
    again = pickle.loads(pickle.dumps(optimizer))
    assert copy.deepcopy(optimizer).state == again.state == {}
    with pytest.raises(RuntimeError, match="cannot be written"):
        again.state[parameter] = {}
