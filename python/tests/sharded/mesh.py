# SPDX-License-Identifier: MIT
"""Four processes as a mesh of 2 x 2: HSDP (replicas of shards), FSDP2 with tensor parallelism,
parameters that are cut in different ways."""

from __future__ import annotations

import copy

import torch
import torch.distributed as dist
from common import BATCH, DOUBLE, RULES, assert_near, assert_same, batches, copied, cut
from common import gathered, loss_of, parameters, refusal, run, sharded, state_of, tandem, tensors
from common import weights
from rank_one import SHAPES, STEPS, compare, compare_by_hand, even_model
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def mesh_of_four() -> DeviceMesh:
    return init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))


def replicas_count_once() -> None:
    """HSDP: each weight is on two ranks."""
    mesh = mesh_of_four()
    for scope in ("whole", "tensor"):
        compare(lambda model: sharded(model, mesh), f"2 x 2, scope {scope}", scope=scope)


def all_placements() -> None:
    mesh = mesh_of_four()
    cuts = [
        (Replicate(), Shard(0)),
        (Shard(0), Replicate()),
        (Shard(0), Shard(0)),
        (Shard(0), Shard(1)),
    ]
    start = tensors([(5, 6), (3,), (7,), (4, 3), (2, 2)], 3, DOUBLE)

    def place(number: int, tensor: Tensor) -> Tensor:
        if number == 4:
            return tensor.clone()  # plain, on all ranks
        return cut(tensor, mesh, cuts[number])

    compare_by_hand(start, place, "placements of a mesh of 2 x 2")
    compare_by_hand(start, place, "placements of a mesh of 2 x 2, foreach", backend="foreach")


def parameters_on_several_meshes() -> None:
    """One cut over the one dimension, one over the other: each weight still counts once."""
    mesh = mesh_of_four()

    def place(number: int, tensor: Tensor) -> Tensor:
        if number == 2:
            return cut(tensor, mesh, [Replicate(), Shard(0)])
        return cut(tensor, mesh[("replicate", "shard")[number]], [Shard(0)])

    compare_by_hand(tensors([(5, 6), (3, 2), (4,)], 3, DOUBLE), place, "several meshes")


def non_finite_on_one_of_four() -> None:
    """On one replica, and in a parameter that other ranks have nothing of."""
    mesh = mesh_of_four()
    placements = [Replicate(), Shard(0)]

    def replicas(_: int, tensor: Tensor) -> Tensor:
        return cut(tensor, mesh, placements)

    def several(number: int, tensor: Tensor) -> Tensor:
        return cut(tensor, mesh[("replicate", "shard")[number % 2]], [Shard(0)])

    for rule in ("ro-to", "diag-to"):
        for place, bad in ((replicas, 0), (several, 0), (several, 1)):
            cls, options = RULES[rule]
            model = parameters([place(k, t) for k, t in enumerate(tensors(SHAPES, 3, DOUBLE))])
            optimizer = cls(model, **options)
            for step in range(4):
                for number, tensor in enumerate(tensors(SHAPES, 50 + step, DOUBLE)):
                    model[number][1].grad = place(number, tensor)
                before = [copied(p) for _, p in model], state_of(optimizer)
                if step != 2:
                    optimizer.step()
                    continue
                if dist.get_rank() == 3:
                    model[bad][1].grad.to_local()[0] = float("inf")
                refusal(optimizer.step, tandem.NonFiniteGradient)
                now = [copied(p) for _, p in model], state_of(optimizer)
                assert_same(now, before, f"{rule}: unchanged")


def noise_of_replicas() -> None:
    """Replicas round alike, and as one process does."""
    mesh = mesh_of_four()
    placements = [Replicate(), Shard(0)]
    cls, options = RULES["diag-to"]
    options = {**options, "stochastic_rounding": True, "state_type": "bfloat16"}
    start = tensors([(5, 6), (7, 33)], 3, torch.bfloat16)
    alone = parameters([tensor.clone() for tensor in start])
    model = parameters([cut(tensor, mesh, placements) for tensor in start])
    ours, theirs = cls(model, **options), cls(alone, **options)
    for step in range(10):
        gradients = tensors([(5, 6), (7, 33)], 50 + step, torch.bfloat16)
        for (_, one), (_, other), gradient in zip(model, alone, gradients):
            one.grad, other.grad = cut(gradient, mesh, placements), gradient
        ours.step()
        theirs.step()
    for (name, one), (_, other) in zip(model, alone):
        assert_same(copied(one), other.detach(), name)
    assert_same(state_of(ours), state_of(theirs), "state")
    here = [one.to_local().detach() for _, one in model]
    assert_same(gathered(here)[(dist.get_rank() + 2) % 4], here, "the other replica")


def shards_of_shards() -> None:
    """FSDP2 over tensor parallelism: dim 0 is cut twice, or dim 0 and dim 1; the last layer by
    FSDP2 alone."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    rows = BATCH // 2
    mine = slice(rows * mesh["data"].get_local_rank(), rows * (mesh["data"].get_local_rank() + 1))
    for rule in ("ro-to", "diag-to"):
        cls, options = RULES[rule]
        alone = even_model()
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        model = parallelize_module(copy.deepcopy(alone), mesh["tensor"], plan)
        for layer in (model[0], model[2], model[4], model):
            fully_shard(layer, mesh=mesh["data"])
        ours, theirs = (cls(net.named_parameters(), **options) for net in (model, alone))
        for x, y in batches(STEPS):
            for net, optimizer, part in ((model, ours, mine), (alone, theirs, slice(None))):
                optimizer.zero_grad()
                loss_of(net, (x[part], y[part])).backward()
                optimizer.step()
        assert_near(weights(model), weights(alone), 1e-10, f"{rule}: shards of shards")


if __name__ == "__main__":
    run(
        replicas_count_once,
        all_placements,
        parameters_on_several_meshes,
        noise_of_replicas,
        shards_of_shards,
        non_finite_on_one_of_four,
    )
