# SPDX-License-Identifier: MIT
"""RO-TO over a sharded model: its inner products are over all weights, wherever they are, and each
weight counts once."""

from __future__ import annotations

import copy
from typing import Any, Callable, Sequence

import torch
from common import DOUBLE, RULES, assert_moved, assert_near, assert_same, assert_sharded_alike
from common import batches, copied, cut, gathered, make_model, mesh_of_all, parameters, run, sharded
from common import state_of, tensors, train, weights
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

CLASS, OPTIONS = RULES["ro-to"]
STEPS = 30


def groups_of(model: nn.Module) -> list[dict[str, Any]]:
    """Two groups of different rates."""
    named = list(model.named_parameters())
    return [{"params": named[:3]}, {"params": named[3:], "lr": 0.03}]


def compare(shard: Callable[[nn.Module], nn.Module], what: str, **options: Any) -> None:
    data = batches(STEPS)
    alone = make_model()
    start = weights(alone)
    model = shard(alone)
    reference = CLASS(groups_of(alone), **{**OPTIONS, **options})
    optimizer = CLASS(groups_of(model), **{**OPTIONS, **options})
    train(alone, reference, data, whole=True)
    train(model, optimizer, data)
    assert_near(weights(model), weights(alone), 1e-10, what)
    assert_moved(weights(model), start, what)
    assert_sharded_alike(optimizer, what)
    for ours, theirs in zip(state_of(optimizer), state_of(reference)):
        for key in "abc":
            assert_near(ours[key], theirs[key], 1e-8, f"{what}: {key}")
    for other in gathered((weights(model), state_of(optimizer))):
        assert_same((weights(model), state_of(optimizer)), other, f"{what}: rank against rank")


def first_layer_only(model: nn.Module) -> nn.Module:
    """DTensors beside plain tensors, which all ranks have."""
    model = copy.deepcopy(model)
    fully_shard(model[0], mesh=mesh_of_all())
    return model


def all_scopes() -> None:
    for scope in ("whole", "group", "tensor"):
        compare(sharded, f"scope {scope}", scope=scope)
    compare(sharded, "normalized", normalize=True, weight_decay=0.01, l2=0.01)
    compare(sharded, "foreach", backend="foreach")


def sharded_and_plain_tensors() -> None:
    for scope in ("whole", "group", "tensor"):
        compare(first_layer_only, f"first layer sharded, scope {scope}", scope=scope)
    compare(first_layer_only, "first layer sharded, foreach", backend="foreach")


def even_model() -> nn.Module:
    """torch's plans of tensor parallelism ask for even widths."""
    torch.manual_seed(0)
    layers = (nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    return nn.Sequential(*layers).to(DOUBLE)


def tensor_parallel() -> None:
    """Cut along dim 0 and dim 1, a bias that all ranks have as DTensor, and plain tensors."""
    data = batches(STEPS)
    alone = even_model()
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    model = parallelize_module(copy.deepcopy(alone), mesh_of_all(), plan)
    for one in (alone, model):
        train(one, CLASS(one.named_parameters(), **OPTIONS), data, whole=True)
    assert_near(weights(model), weights(alone), 1e-10, "tensor parallel")


# ---- By hand -------------------------------------------------------------------------------------


def compare_by_hand(
    start: Sequence[Tensor],
    place: Callable[[int, Tensor], Tensor],
    what: str,
    steps: int = STEPS,
    **options: Any,
) -> None:
    """Equal gradients for whole parameters and for those that `place` cuts: of a quadratic."""
    target = tensors([tuple(tensor.shape) for tensor in start], 9, DOUBLE)
    alone = parameters([tensor.clone() for tensor in start])
    model = parameters([place(number, tensor) for number, tensor in enumerate(start)])
    ours, theirs = (CLASS(p, **{**OPTIONS, **options}) for p in (model, alone))
    for _ in range(steps):
        for number, ((_, one), (_, other)) in enumerate(zip(model, alone)):
            other.grad = other.detach() - target[number]
            one.grad = place(number, copied(one) - target[number])
        ours.step()
        theirs.step()
    for (name, one), (_, other) in zip(model, alone):
        assert_near(copied(one), other.detach(), 1e-10, f"{what}: {name}")


SHAPES = [(5, 6), (3,), (1, 4), (4, 2)]


def weights_that_are_zero() -> None:
    """c starts as w / |w|^2, or later where w = 0: of all ranks, not of one."""
    mesh = mesh_of_all()

    def place(_: int, tensor: Tensor) -> Tensor:
        return cut(tensor, mesh, [Shard(0)])

    start = tensors(SHAPES, 3, DOUBLE)
    start[0][3:] = 0  # rank 1's rows
    for tensor in start[1:]:
        tensor.zero_()
    compare_by_hand(start, place, "zeros on rank 1")
    compare_by_hand([torch.zeros_like(tensor) for tensor in start], place, "zeros everywhere")


def one_exchange_a_step() -> None:
    mesh = mesh_of_all()
    start = tensors(SHAPES, 3, DOUBLE)
    for rule, on_nonfinite, expected in (
        ("ro-to", "raise", 1),
        ("ro-to", "ignore", 1),
        ("diag-to", "raise", 1),
        ("diag-to", "ignore", 0),
    ):
        cls, options = RULES[rule]
        model = parameters([cut(tensor, mesh, [Shard(0)]) for tensor in start])
        optimizer = cls(model, **options, on_nonfinite=on_nonfinite)
        for step in range(3):
            for (_, parameter), tensor in zip(model, start):
                parameter.grad = cut(tensor, mesh, [Shard(0)])
            with CommDebugMode() as communication:
                optimizer.step()
            if step > 0:  # the first may have more to agree on
                count = communication.get_total_counts()
                assert count == expected, f"{rule}, {on_nonfinite}: {count} collectives"


if __name__ == "__main__":
    run(
        all_scopes,
        sharded_and_plain_tensors,
        tensor_parallel,
        weights_that_are_zero,
        one_exchange_a_step,
    )
