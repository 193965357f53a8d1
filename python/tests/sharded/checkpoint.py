# SPDX-License-Identifier: MIT
"""torch.distributed.checkpoint: saved on two processes, loaded on two and on one. torchrun starts
this twice with the same folder: on two processes, which save, and then on one."""

from __future__ import annotations

import copy
import os
import pathlib
import warnings
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from common import DOUBLE, RULES, assert_near, assert_same, assert_sharded_alike, batches, copied
from common import make_model, refusal, run, sharded, state_of, tandem, train, weights
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, get_state_dict
from torch.distributed.checkpoint.state_dict import set_model_state_dict, set_optimizer_state_dict
from torch.distributed.checkpoint.state_dict import set_state_dict
from torch.nn.parallel import DistributedDataParallel

warnings.filterwarnings("ignore", category=UserWarning)  # of torch, about one process
warnings.filterwarnings("ignore", category=FutureWarning)

BEFORE = 9


def data_of(kind: tuple[str, str, dict[str, Any]]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return batches(20, type_of(kind))


def type_of(kind: tuple[str, str, dict[str, Any]]) -> torch.dtype:
    """A narrow state is of float weights; other kinds are compared in double."""
    return torch.float32 if "state_type" in kind[2] else DOUBLE


#: What is saved: a name, the rule, more options.
KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("diag-to", "diag-to", {}),
    ("ro-to", "ro-to", {}),
    ("ro-to-tensor", "ro-to", {"scope": "tensor"}),
    ("adam", "adam", {}),
    ("nadamw", "nadamw", {}),
    ("sgd", "sgd", {}),
    ("adam-to-narrow", "adam-to", {"state_type": "bfloat16"}),
]
#: Rules that need weights in one place, under DDP.
WHOLE_KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("block-to", "block-to", {}),
    ("full-to", "full-to", {}),
    ("full-to-dense", "full-to", {"form": "dense"}),
    ("full-to-span", "full-to", {"form": "span"}),
]


def ways_of(kind: str) -> list[tuple[bool, bool]]:
    """Whether the state is flattened, and whether model and optimizer are taken together."""
    return [(False, False), (True, True)] + ([(True, False)] if kind == "ro-to" else [])


def make(kind: tuple[str, str, dict[str, Any]], model: nn.Module, **changed: Any) -> Any:
    cls, options = RULES[kind[1]]
    named = [(name.removeprefix("module."), p) for name, p in model.named_parameters()]
    return cls(named, **{**options, **kind[2], **changed})


def taken(model: nn.Module, optimizer: Any, flat: bool, together: bool) -> dict[str, Any]:
    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    if together:
        of_model, of_optimizer = get_state_dict(model, optimizer, options=options)
        return {"model": of_model, "optimizer": of_optimizer}
    return {
        "model": get_model_state_dict(model),
        "optimizer": get_optimizer_state_dict(model, optimizer, options=options),
    }


def load(place: pathlib.Path, model: nn.Module, optimizer: Any, flat: bool, together: bool) -> None:
    state = taken(model, optimizer, flat, together)
    dcp.load(state, checkpoint_id=str(place))
    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    if together:
        set_state_dict(
            model,
            optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
            options=options,
        )
    else:
        set_model_state_dict(model, state["model"])
        set_optimizer_state_dict(model, optimizer, state["optimizer"], options=options)


def save_and_resume(
    folder: str,
    wrap: Callable[[nn.Module], nn.Module],
    kinds: list[tuple[str, str, dict[str, Any]]],
    ways: Callable[[str], list[tuple[bool, bool]]],
) -> None:
    for kind in kinds:
        for flat, together in ways(kind[0]):
            what = f"{kind[0]}, flat {flat}, together {together}"
            place = pathlib.Path(folder) / f"{kind[0]}-{flat:d}{together:d}"
            data = data_of(kind)
            model = wrap(make_model(type_of(kind)))
            optimizer = make(kind, model)
            train(model, optimizer, data[:BEFORE])
            optimizer.zero_grad()  # torch steps optimizers without state only if there are none
            before = weights(model), state_of(optimizer), copied(optimizer.param_groups)
            dcp.save(taken(model, optimizer, flat, together), checkpoint_id=str(place))
            now = weights(model), state_of(optimizer), copied(optimizer.param_groups)
            assert_same(now, before, f"{what}: saving changed something")
            train(model, optimizer, data[BEFORE:])

            resumed = wrap(make_model(type_of(kind), seed=5))
            again = make(kind, resumed, lr=0.123)
            load(place, resumed, again, flat, together)
            assert_same((weights(resumed), state_of(again)), before[:2], f"{what}: loaded")
            assert again.param_groups[0]["lr"] == RULES[kind[1]][1]["lr"], what
            if kind in KINDS:
                assert_sharded_alike(again, what)
            train(resumed, again, data[BEFORE:])
            assert_same(weights(resumed), weights(model), f"{what}: resumed")
            whole = weights(model)
            if dist.get_rank() == 0:
                torch.save(whole, place / "final.pt")


def of_fsdp2(folder: str) -> None:
    save_and_resume(folder, sharded, KINDS, ways_of)


def of_ddp(folder: str) -> None:
    save_and_resume(folder, DistributedDataParallel, WHOLE_KINDS, ways_of)


def state_that_has_grown(folder: str) -> None:
    """torch loads what the new optimizer has already, and drops the rest: with the span form of
    Full-TO that is noticed at load or at the next step."""
    kind = ("full-to-span", "full-to", {"form": "span"})
    place = pathlib.Path(folder) / "grown"
    model = DistributedDataParallel(make_model())
    optimizer = make(kind, model)
    train(model, optimizer, batches(100))
    dcp.save(taken(model, optimizer, False, False), checkpoint_id=str(place))
    resumed = DistributedDataParallel(make_model(seed=5))
    again = make(kind, resumed)

    def attempt() -> None:
        load(place, resumed, again, False, False)
        train(resumed, again, batches(1))

    message = refusal(attempt, tandem.StateError)
    assert "missing" in message, message
    assert_same(weights(resumed), weights(model), "weights")
    # Without a template, as under DDP on one rank, it resumes.
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for net, one in ((model, optimizer), (resumed, again)):
        train(net, one, batches(10))
    assert_same(weights(resumed), weights(model), "resumed by state_dict()")


def whole_state_on_rank_0(folder: str) -> None:
    """Gathered into plain tensors on rank 0, and handed out from there."""
    for kind in KINDS[:4]:
        data = data_of(kind)
        model = sharded(make_model(type_of(kind)))
        optimizer = make(kind, model)
        train(model, optimizer, data[:BEFORE])
        gather = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = copy.deepcopy(get_state_dict(model, optimizer, options=gather))
        train(model, optimizer, data[BEFORE:])

        resumed = sharded(make_model(type_of(kind), seed=5))
        again = make(kind, resumed, lr=0.123)
        spread = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        # One after the other: set_state_dict() of torch 2.13 hangs, as other ranks leave early.
        given = copy.deepcopy(state)  # torch puts other tensors into it
        set_model_state_dict(resumed, given[0], options=spread)
        set_optimizer_state_dict(resumed, again, given[1], options=spread)
        assert_sharded_alike(again, f"{kind[0]}: spread from rank 0")
        # Ranks gather one array after another, so a loaded state must have the same order on all.
        assert_same(get_state_dict(resumed, again, options=gather), state, f"{kind[0]}: gathered")
        train(resumed, again, data[BEFORE:])
        assert_same(weights(resumed), weights(model), f"{kind[0]}: spread from rank 0")


def saved_before_the_first_step(folder: str) -> None:
    """torch makes a step of rate 0 then, once."""
    for kind in KINDS:
        model, twin = sharded(make_model(type_of(kind))), sharded(make_model(type_of(kind)))
        optimizer, other = make(kind, model), make(kind, twin)
        start = weights(model)
        for time in range(3):
            state = taken(model, optimizer, False, False)
            place = pathlib.Path(folder) / f"fresh-{kind[0]}"
            dcp.save(state, checkpoint_id=str(place / str(time)))
            assert_same(weights(model), start, f"{kind[0]}: weights")
            steps = [optimizer.state[p].get("step", 1) for p in model.parameters()]
            assert steps == [1] * len(steps), f"{kind[0]}: steps {steps}"
        if kind[1] in ("diag-to", "ro-to", "sgd"):  # those that do not count steps
            train(model, optimizer, data_of(kind))
            train(twin, other, data_of(kind))
            assert_same(weights(model), weights(twin), f"{kind[0]}: saved before the first step")


# ---- On one process ------------------------------------------------------------------------------


def on_one_process(folder: str) -> None:
    for kind in [*KINDS, *WHOLE_KINDS]:
        places = sorted(pathlib.Path(folder).glob(f"{kind[0]}-[01][01]"))
        assert places, f"{folder} has nothing of {kind[0]}"
        for place in places:
            flat, together = (digit == "1" for digit in place.name[-2:])
            model = make_model(type_of(kind), seed=5)
            optimizer = make(kind, model, lr=0.123)
            load(place, model, optimizer, flat, together)
            assert optimizer.param_groups[0]["lr"] == RULES[kind[1]][1]["lr"]
            train(model, optimizer, data_of(kind)[BEFORE:], whole=True)
            most = 1e-10 if type_of(kind) == DOUBLE else 1e-2  # of which state rounds to 8 bits
            assert_near(weights(model), torch.load(place / "final.pt"), most, place.name)


if __name__ == "__main__":
    if int(os.environ["WORLD_SIZE"]) == 2:
        run(
            of_fsdp2,
            of_ddp,
            state_that_has_grown,
            whole_state_on_rank_0,
            saved_before_the_first_step,
        )
    else:
        run(on_one_process)
