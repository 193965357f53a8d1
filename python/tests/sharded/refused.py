# SPDX-License-Identifier: MIT
"""What is refused on every rank together, before anything changes: rules that need weights in one
place, and gradients that are not finite on one rank only."""

from __future__ import annotations

import math
import os
from typing import Any

import torch
import torch.distributed as dist
from common import DOUBLE, RULES, assert_same, batches, copied, cut, gathered, make_model
from common import mesh_of_all, parameters, refusal, run, sharded, state_of, tandem, tensors, train
from common import part_of, loss_of, weights
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import Shard


def rules_that_need_weights_in_one_place() -> None:
    for rule in ("block-to", "full-to"):
        cls, options = RULES[rule]
        for scope in ("whole", "tensor") if rule == "full-to" else (None,):
            more = {} if scope is None else {"scope": scope}
            model = sharded(make_model())
            before = weights(model)

            def attempt() -> None:
                optimizer = cls(model.named_parameters(), **options, **more)
                train(model, optimizer, batches(1))

            message = refusal(attempt)
            for part in (cls.__name__, "0.weight", "sharded"):
                assert part in message, f"{rule}: '{message}' does not name {part}"
            assert_same(weights(model), before, f"{rule}: weights")
            assert len(set(gathered(message))) == 1, f"{rule}: ranks say different things"


def one_sharded_parameter_is_enough() -> None:
    """It is found before the plain tensors are stepped; an empty shard counts as well."""
    cls, options = RULES["block-to"]
    model = make_model()
    fully_shard(model[4], mesh=mesh_of_all())  # 1 row: rank 1 has none
    before = weights(model)

    def attempt() -> None:
        train(model, cls(model.named_parameters(), **options), batches(1))

    message = refusal(attempt)
    assert "4.weight" in message, message
    assert_same(weights(model), before, "weights")


def flat_shards_of_fsdp1() -> None:
    """Plain tensors that hold a part of the model: what is over the whole cannot be computed."""
    for keep in (False, True):
        for rule in ("ro-to", "full-to", "block-to"):
            cls, options = RULES[rule]
            model = FullyShardedDataParallel(
                make_model(), device_id=torch.device("cpu"), use_orig_params=keep
            )

            def attempt() -> None:
                optimizer = cls(model.named_parameters(), **options)
                loss_of(model, part_of(batches(1)[0])).backward()
                optimizer.step()

            message = refusal(attempt)
            assert "FullyShardedDataParallel" in message and "fully_shard" in message, message


def state_that_is_whole() -> None:
    """State files hold whole tensors; so does a state dict of one process."""
    cls, options = RULES["diag-to"]
    alone = make_model()
    model = sharded(alone)
    whole, optimizer = (cls(net.named_parameters(), **options) for net in (alone, model))
    train(alone, whole, batches(1), whole=True)
    train(model, optimizer, batches(1))
    before = state_of(optimizer)
    message = refusal(lambda: optimizer.save_state("never.safetensors"))
    assert "0.weight" in message and "torch.distributed.checkpoint" in message, message
    assert not os.path.exists("never.safetensors")
    message = refusal(lambda: optimizer.load_state_dict(whole.state_dict()))
    assert "0.weight" in message and "sharded" in message, message
    assert_same(state_of(optimizer), before, "state")


# ---- Gradients that are not finite ---------------------------------------------------------------

SHAPES = [(5, 6), (3,), (1, 4)]


def set_gradients(model: list[Any], step: int, bad_on: int = -1, bad_in: int = 0) -> None:
    for (_, parameter), tensor in zip(model, tensors(SHAPES, 50 + step, DOUBLE)):
        parameter.grad = cut(tensor, parameter.device_mesh, [Shard(0)])
    if bad_on == dist.get_rank():
        model[bad_in][1].grad.to_local().view(-1)[0] = math.nan


def all_ranks_agree() -> None:
    """Rank 1 alone, then rank 0 alone, in a parameter of which rank 1 has an empty shard."""
    mesh = mesh_of_all()
    for rule in ("diag-to", "ro-to", "adam", "sgd"):
        for on_nonfinite in ("raise", "skip"):
            for backend in ("auto", "foreach", "capturable"):
                if (backend, on_nonfinite) != ("capturable", "raise"):
                    compare_with_good_steps(rule, on_nonfinite, backend, mesh)


def compare_with_good_steps(rule: str, on_nonfinite: str, backend: str, mesh: Any) -> None:
    cls, options = RULES[rule]
    what = f"{rule}, {on_nonfinite}, {backend}"
    made = {"on_nonfinite": on_nonfinite, **options}
    made.update({"capturable": True} if backend == "capturable" else {"backend": backend})
    model, twin = (
        parameters([cut(tensor, mesh, [Shard(0)]) for tensor in tensors(SHAPES, 3, DOUBLE)])
        for _ in range(2)
    )
    optimizer, good = cls(model, **made), cls(twin, **made)
    bad = {0: (1, 0), 3: (1, 1), 5: (0, 2)}  # step: rank, parameter
    for step in range(8):
        set_gradients(model, step, *bad.get(step, ()))
        if step not in bad:
            optimizer.step()
            set_gradients(twin, step)
            good.step()
            continue
        before = [copied(p) for _, p in model], state_of(optimizer)
        if on_nonfinite == "raise":
            messages = gathered(refusal(optimizer.step, tandem.NonFiniteGradient))
            assert f"p{bad[step][1]}" in messages[bad[step][0]], f"{what}: {messages}"
        else:
            optimizer.step()
        now = [copied(p) for _, p in model], state_of(optimizer)
        if step > 0:  # the first may leave a state with its starting values
            assert_same(now, before, f"{what}: a bad gradient changed something")
        assert_same(now[0], before[0], f"{what}: a bad gradient changed weights")
    if on_nonfinite == "skip":
        skipped = gathered(int(optimizer.skipped_steps))
        assert skipped == [len(bad)] * len(skipped), f"{what}: skipped {skipped}"
    for (_, one), (_, other) in zip(model, twin):
        assert_same(copied(one), copied(other), f"{what}: training went on")


def plain_tensors_beside_shards() -> None:
    """A gradient that all ranks should have, but one has another."""
    mesh = mesh_of_all()
    for rule in ("diag-to", "ro-to"):
        cls, options = RULES[rule]
        start = tensors(SHAPES[:2], 3, DOUBLE)
        model = parameters([cut(start[0], mesh, [Shard(0)]), start[1]])
        optimizer = cls(model, **options)
        for step in range(3):
            gradients = tensors(SHAPES[:2], 50 + step, DOUBLE)
            model[0][1].grad, model[1][1].grad = cut(gradients[0], mesh, [Shard(0)]), gradients[1]
            before = [copied(p) for _, p in model], state_of(optimizer)
            if step != 1:
                optimizer.step()
                continue
            if dist.get_rank() == 1:
                model[1][1].grad[0] = math.inf
            refusal(optimizer.step, tandem.NonFiniteGradient)
            assert_same(([copied(p) for _, p in model], state_of(optimizer)), before, rule)


if __name__ == "__main__":
    run(
        rules_that_need_weights_in_one_place,
        one_sharded_parameter_is_enough,
        flat_shards_of_fsdp1,
        state_that_is_whole,
        all_ranks_agree,
        plain_tensors_beside_shards,
    )
