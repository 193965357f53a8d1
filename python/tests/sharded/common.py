# SPDX-License-Identifier: MIT
"""What the scripts share that torchrun starts for test_sharded.py: the process group, a model with
uneven and empty shards, its training on a part of each batch, comparisons."""

from __future__ import annotations

import copy
import datetime
import faulthandler
import os
import pathlib
import sys
import time
import traceback
from typing import Any, Callable, Iterable, Optional, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Placement, distribute_tensor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import tandem  # noqa: E402
from models import RULES as ALL_RULES  # noqa: E402

Rule = tuple[Any, dict[str, Any]]

#: Class and options by the rule's name.
RULES: dict[str, Rule] = {cls.rule: (cls, options) for cls, options in ALL_RULES}
#: Rules that treat every weight alone; the others need sums, or weights in one place.
ELEMENTWISE = [rule for rule in RULES if rule not in ("full-to", "block-to", "ro-to")]

DOUBLE = torch.float64
#: Rows of the whole batch; a multiple of every number of processes.
BATCH = 16


# ---- Processes -----------------------------------------------------------------------------------


def run(*checks: Callable[..., None], limit: int = 240) -> None:
    """Runs the checks on this process of torchrun's, each with the arguments of the script. A
    process that fails ends at once, so that torchrun ends the others. CHECKS="one two" in the
    environment chooses some."""
    faulthandler.dump_traceback_later(limit, exit=True)  # says where it hangs
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    chosen = os.environ.get("CHECKS", "").split()
    for check in checks:
        if chosen and check.__name__ not in chosen:
            continue
        start = time.monotonic()
        try:
            check(*sys.argv[1:])
            dist.barrier()
        except BaseException:
            where = f"check {check.__name__} failed on rank {dist.get_rank()}:"
            print(f"{where}\n{traceback.format_exc()}", end="", file=sys.stderr, flush=True)
            os._exit(1)
        if dist.get_rank() == 0:
            print(f"{check.__name__}: {time.monotonic() - start:.2f} s", flush=True)
    dist.barrier()
    sys.stderr.flush()
    # Torch 2.13 with Gloo sometimes hangs on its usual way out (test_distributed.py says why), or ends in
    # "terminate called".
    os._exit(0)


def mesh_of_all() -> DeviceMesh:
    return init_device_mesh("cpu", (dist.get_world_size(),))


def refusal(action: Callable[[], Any], kinds: Any = (ValueError, RuntimeError)) -> str:
    """The message of the error that `action` must raise here."""
    try:
        action()
    except kinds as error:
        return str(error)
    raise AssertionError(f"expected one of {kinds}, but nothing was raised")


def gathered(value: Any) -> list[Any]:
    """The values of all ranks."""
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


# ---- Model and data ------------------------------------------------------------------------------


def make_model(dtype: torch.dtype = DOUBLE, seed: int = 0) -> nn.Module:
    """On two processes, dim 0 of its parameters is cut into 3 + 2, 2 + 1 and 1 + 0."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 1)
    ).to(dtype)


def batches(steps: int, dtype: torch.dtype = DOUBLE, seed: int = 7) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(steps):
        x = torch.randn(BATCH, 6, generator=generator, dtype=DOUBLE)
        y = x[:, :1] * x[:, 1:2] + x[:, 2:].sum(1, keepdim=True)
        made.append((x.to(dtype), y.to(dtype)))
    return made


def loss_of(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return (model(batch[0]) - batch[1]).square().mean()


def part_of(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """This rank's rows."""
    rows = BATCH // dist.get_world_size()
    mine = slice(rows * dist.get_rank(), rows * (dist.get_rank() + 1))
    return batch[0][mine], batch[1][mine]


def sharded(model: nn.Module, mesh: Optional[DeviceMesh] = None, **options: Any) -> nn.Module:
    """FSDP2 over a copy of the model, each layer for itself."""
    model = copy.deepcopy(model)
    for layer in model.children():
        if any(True for _ in layer.parameters()):
            fully_shard(layer, mesh=mesh or mesh_of_all(), **options)
    fully_shard(model, mesh=mesh or mesh_of_all(), **options)
    return model


def train(
    model: nn.Module, optimizer: Any, data: Iterable[tuple[Tensor, Tensor]], whole: bool = False
) -> None:
    """Trains on this rank's part of each batch, or, `whole`, as one process does."""
    for batch in data:
        optimizer.zero_grad()
        loss_of(model, batch if whole else part_of(batch)).backward()
        if not whole:
            average_plain_gradients(model)
        optimizer.step()


def average_plain_gradients(model: nn.Module) -> None:
    """What FSDP2 does not shard it does not average either."""
    if isinstance(model, nn.parallel.DistributedDataParallel):
        return
    for parameter in model.parameters():
        if parameter.grad is not None and not isinstance(parameter, DTensor):
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


# ---- Parameters without a model, and gradients by hand -------------------------------------------

#: With the last, shards have odd sizes beyond a vector's width.
SHAPES = [(5, 6), (5,), (3, 5), (1, 3), (1,), (7, 33)]


def tensors(
    shapes: Sequence[tuple[int, ...]], seed: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=DOUBLE).to(dtype) for shape in shapes]


def cut(tensor: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> DTensor:
    """A tensor that every rank has whole, as DTensor; no communication."""
    return distribute_tensor(tensor.clone(), mesh, placements, src_data_rank=None)


def parameters(made: Sequence[Tensor]) -> list[tuple[str, nn.Parameter]]:
    return [(f"p{k}", nn.Parameter(tensor)) for k, tensor in enumerate(made)]


# ---- Comparisons ---------------------------------------------------------------------------------


def whole_of(value: Tensor) -> Tensor:
    return value.detach().full_tensor() if isinstance(value, DTensor) else value.detach()


def weights(model: nn.Module) -> Tensor:
    if isinstance(model, nn.parallel.DistributedDataParallel):
        model = model.module
    return torch.cat([whole_of(p).reshape(-1) for p in model.parameters()])


def state_of(optimizer: Any) -> list[dict[str, Any]]:
    """Copies of the state of each parameter, whole."""
    return [
        copied(optimizer.state.get(p, {})) for g in optimizer.param_groups for p in g["params"]
    ]


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(entry) for entry in value]
    return whole_of(value).clone() if isinstance(value, Tensor) else value


def assert_same(ours: Any, theirs: Any, what: str) -> None:
    """To the bit, also of tensors inside dictionaries and lists."""
    if isinstance(theirs, dict):
        assert sorted(ours) == sorted(theirs), f"{what}: {sorted(ours)}, expected {sorted(theirs)}"
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{what}: {key}")
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), f"{what}: {len(ours)} entries, expected {len(theirs)}"
        for number, (one, other) in enumerate(zip(ours, theirs)):
            assert_same(one, other, f"{what}: {number}")
    elif isinstance(theirs, Tensor):
        assert ours.dtype == theirs.dtype, f"{what}: {ours.dtype}, expected {theirs.dtype}"
        if not torch.equal(ours, theirs):
            most = (ours.double() - theirs.double()).abs().max()
            raise AssertionError(f"{what}: differs by up to {most}:\n{ours}\nexpected\n{theirs}")
    else:
        assert ours == theirs, f"{what}: {ours}, expected {theirs}"


def assert_near(ours: Tensor, theirs: Tensor, relative: float, what: str) -> None:
    """Relative to the largest weight: small ones are differences of large ones."""
    error = float((ours - theirs).abs().max() / theirs.abs().max())
    assert error <= relative, f"{what}: relative error {error:.2e}, expected at most {relative:.0e}"


def assert_moved(ours: Tensor, start: Tensor, what: str) -> None:
    change = float((ours - start).abs().max())
    assert 1e-4 < change < 10, f"{what}: weights moved by {change}"


def assert_sharded_alike(optimizer: Any, what: str) -> None:
    """Arrays shaped like a parameter are cut like it."""
    found = 0
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for key, value in optimizer.state[parameter].items():
                if not isinstance(value, Tensor) or value.dim() == 0:
                    continue
                found += 1
                assert isinstance(value, DTensor) == isinstance(parameter, DTensor), (
                    f"{what}: state {key} is a {type(value).__name__} for a "
                    f"{type(parameter).__name__}"
                )
                assert value.shape == parameter.shape, f"{what}: {key}: shape {value.shape}"
                if isinstance(parameter, DTensor):
                    assert value.placements == parameter.placements, f"{what}: {key}"
                    assert value.device_mesh == parameter.device_mesh, f"{what}: {key}"
                    assert value.to_local().shape == parameter.to_local().shape, f"{what}: {key}"
    assert found > 0 or optimizer.rule == "sgd", f"{what}: no arrays in optimizer.state"
