# SPDX-License-Identifier: MIT
"""FSDP2: rules that treat each weight alone are exact, and their state is sharded alike."""

from __future__ import annotations

import itertools
from typing import Any, Callable

import torch
from common import DOUBLE, ELEMENTWISE, RULES, SHAPES, assert_moved, assert_near, assert_same
from common import assert_sharded_alike, batches, copied, cut, gathered, loss_of, make_model
from common import mesh_of_all, parameters, part_of, run, sharded, state_of, tensors, train, weights
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy
from torch.distributed.tensor import Partial, Replicate, Shard

STEPS = 20


def gradients_are_means() -> None:
    """Before anything else: what FSDP2 over Gloo gives must be the mean over ranks, which rules
    that scale their steps, such as Adam, do not show. See docs/sharded.md."""
    batch = batches(1)[0]
    for dtype, most in ((DOUBLE, 1e-13), (torch.float32, 1e-5), (torch.bfloat16, 0.05)):
        alone = make_model(dtype)
        model = sharded(alone)
        data = (batch[0].to(dtype), batch[1].to(dtype))
        loss_of(alone, data).backward()
        loss_of(model, part_of(data)).backward()
        for (name, one), other in zip(model.named_parameters(), alone.parameters()):
            assert_near(one.grad.full_tensor(), other.grad, most, f"{dtype}: gradient of {name}")


def equals_one_process() -> None:
    data = batches(STEPS)
    for rule in ELEMENTWISE:
        cls, options = RULES[rule]
        alone = make_model()
        start = weights(alone)
        model = sharded(alone)
        train(alone, cls(alone.named_parameters(), **options), data, whole=True)
        optimizer = cls(model.named_parameters(), **options)
        train(model, optimizer, data)
        assert_near(weights(model), weights(alone), 1e-12, rule)
        assert_moved(weights(model), start, rule)
        assert_sharded_alike(optimizer, rule)


def mixed_precision_trains() -> None:
    """Float weights, computed with in bfloat16."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    data = batches(STEPS, torch.float32)
    alone = make_model(torch.float32)
    model = sharded(alone, mp_policy=policy)
    cls, options = RULES["diag-to"]
    train(alone, cls(alone.named_parameters(), **options), data, whole=True)
    optimizer = cls(model.named_parameters(), **options)
    train(model, optimizer, data)
    assert_near(weights(model), weights(alone), 0.05, "mixed precision")
    for key in ("a", "b"):
        assert optimizer.state[model[0].weight][key].dtype == torch.float32, key


def parameters_exchanged_before_the_first_step() -> None:
    """Accelerate makes DTensors of a model's parameters and puts them into the groups of an
    optimizer that was made before."""
    data = batches(STEPS)
    for rule in ("diag-to", "ro-to"):
        cls, options = RULES[rule]
        alone = make_model()
        model = make_model()
        layers = (model[0], model[2], model[4])
        optimizer = cls([{"params": layer.parameters()} for layer in layers], **options)
        model = sharded(model)
        for group, layer in zip(optimizer.param_groups, (model[0], model[2], model[4])):
            for number, parameter in enumerate(group["params"]):
                group["params"][number] = torch.empty(1, dtype=parameter.dtype)
            group["params"] = list(layer.parameters())
        train(alone, cls(alone.named_parameters(), **options), data, whole=True)
        train(model, optimizer, data)
        assert_near(weights(model), weights(alone), 1e-10, f"{rule}: exchanged parameters")


def flat_shards_of_fsdp1() -> None:
    """Plain tensors that hold a part of the model."""
    data = batches(STEPS)
    for keep in (False, True):
        cls, options = RULES["adam-to"]
        alone = make_model()
        model = FullyShardedDataParallel(
            make_model(), device_id=torch.device("cpu"), use_orig_params=keep
        )
        train(alone, cls(alone.parameters(), **options), data, whole=True)
        optimizer = cls(model.parameters(), **options)
        for batch in data:
            optimizer.zero_grad()
            loss_of(model, part_of(batch)).backward()
            optimizer.step()
        with FullyShardedDataParallel.summon_full_params(model):
            found = torch.cat([p.detach().reshape(-1) for p in model.module.parameters()])
        assert_near(found[: weights(alone).numel()], weights(alone), 1e-12, f"FSDP1, {keep}")


# ---- The same gradients by hand: the same bits ---------------------------------------------------


def compare_bits(
    rule: str,
    dtype: torch.dtype,
    what: str,
    place: Callable[[tuple[int, ...]], int] = lambda shape: 0,
    **more: Any,
) -> None:
    """Steps parameters cut along `place` and whole ones with equal gradients."""
    cls, options = RULES[rule]
    options = {**options, **more}
    mesh = mesh_of_all()
    placements = [[Shard(place(shape))] for shape in SHAPES]
    start = tensors(SHAPES, 3, dtype)
    alone = parameters([tensor.clone() for tensor in start])
    model = parameters([cut(tensor, mesh, cuts) for tensor, cuts in zip(start, placements)])
    ours, theirs = cls(model, **options), cls(alone, **options)
    for step in range(STEPS):
        for (_, one), (_, other), whole, cuts in zip(
            model, alone, tensors(SHAPES, 100 + step, dtype), placements
        ):
            one.grad, other.grad = cut(whole, mesh, cuts), whole.clone()
        ours.step()
        theirs.step()
    found, expected = [p for _, p in model], [p.detach() for _, p in alone]
    assert_same(copied(found), expected, f"{what}: weights")
    assert_same(state_of(ours), state_of(theirs), f"{what}: state")
    assert_sharded_alike(ours, what)


def same_bits_in_float() -> None:
    for rule in ELEMENTWISE:
        compare_bits(rule, torch.float32, f"{rule}, float")
        compare_bits(rule, DOUBLE, f"{rule}, double", weight_decay=0.1)


def same_bits_in_bfloat16() -> None:
    """The noise of stochastic rounding depends on the element's number in the whole tensor."""
    for rule in ("diag-to", "adam-to", "adam", "momentum", "sgd"):
        compare_bits(rule, torch.bfloat16, f"{rule}, bfloat16, to nearest")
        compare_bits(
            rule, torch.bfloat16, f"{rule}, bfloat16, stochastic", stochastic_rounding=True, seed=5
        )


def same_bits_with_state_in_bfloat16() -> None:
    for rule in ("diag-to", "adam", "lion"):
        for rounding in ("nearest", "stochastic"):
            more = {"state_type": "bfloat16", "state_rounding": rounding, "state_seed": 3}
            compare_bits(rule, torch.float32, f"{rule}, state in bfloat16, {rounding}", **more)


def same_bits_when_cut_along_dim_1() -> None:
    """As tensor parallelism and FSDP2's shard_placement_fn do. The elements of a shard are then not
    next to each other in the whole tensor, and noise is that of other elements."""

    def last(shape: tuple[int, ...]) -> int:
        return len(shape) - 1

    for rule in ("diag-to", "adam"):
        compare_bits(rule, torch.float32, f"{rule}, dim 1", last)
        compare_bits(rule, torch.bfloat16, f"{rule}, dim 1, bfloat16", last)
        narrow = {"state_type": "bfloat16", "state_rounding": "nearest"}
        compare_bits(rule, torch.float32, f"{rule}, dim 1, state in bfloat16", last, **narrow)


def foreach_backend_is_near() -> None:
    for rule in ("diag-to", "adam-to", "adam"):
        cls, options = RULES[rule]
        alone = make_model()
        model = sharded(alone)
        data = batches(STEPS)
        train(alone, cls(alone.named_parameters(), **options), data, whole=True)
        optimizer = cls(model.named_parameters(), **options, backend="foreach")
        train(model, optimizer, data)
        assert_near(weights(model), weights(alone), 1e-12, f"{rule}, foreach")
        assert_sharded_alike(optimizer, f"{rule}, foreach")


def gradients_that_lie_otherwise() -> None:
    """Replicated, or sums that are still to be made: brought to the parameter's placement."""
    mesh = mesh_of_all()
    whole = tensors([(5, 6)], 3, DOUBLE)[0]
    gradient = tensors([(5, 6)], 4, DOUBLE)[0]
    cls, options = RULES["diag-to"]
    alone = torch.nn.Parameter(whole.clone())
    theirs = cls([("p", alone)], **options)
    for placement, backend in itertools.product((Replicate(), Partial()), ("auto", "foreach")):
        model = torch.nn.Parameter(cut(whole, mesh, [Shard(0)]))
        alone.data.copy_(whole)
        theirs.state.clear()
        ours = cls([("p", model)], backend=backend, **options)
        for _ in range(3):
            share = gradient if placement == Replicate() else gradient / mesh.size()
            model.grad = torch.distributed.tensor.DTensor.from_local(share, mesh, [placement])
            alone.grad = gradient.clone()
            ours.step()
            theirs.step()
        assert_near(copied(model), alone.detach(), 1e-15, f"gradient {placement}, {backend}")


# ---- A step that torch makes ---------------------------------------------------------------------


def step_without_rate_and_gradient_is_harmless() -> None:
    """As distributed checkpoints do with an optimizer that has no state yet."""
    for rule in [*ELEMENTWISE, "ro-to"]:
        cls, options = RULES[rule]
        model = sharded(make_model())
        optimizer = cls(model.named_parameters(), **{**options, "lr": 0.0})
        before = weights(model)
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        assert_same(weights(model), before, f"{rule}: weights")
        assert all(step == 1 for step in gathered(optimizer.state[model[0].weight]["step"]))


if __name__ == "__main__":
    run(
        gradients_are_means,
        equals_one_process,
        mixed_precision_trains,
        parameters_exchanged_before_the_first_step,
        flat_shards_of_fsdp1,
        same_bits_in_float,
        same_bits_in_bfloat16,
        same_bits_with_state_in_bfloat16,
        same_bits_when_cut_along_dim_1,
        foreach_backend_is_near,
        gradients_that_lie_otherwise,
        step_without_rate_and_gradient_is_harmless,
    )
