# SPDX-License-Identifier: MIT
"""Models in parts on several machines: the part of a sharded tensor (DTensor) that is here, sums over the
machines that hold the others, and wrappers that shard optimizers by themselves."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

#: Which machines hold the other parts of a tensor: the mesh, and its dimensions that cut the tensor.
#: None: all of it is here.
Shards = Optional[tuple[Any, tuple[int, ...]]]


def is_sharded(tensor: Tensor) -> bool:
    """Whether it is a DTensor, which knows of other machines."""
    return hasattr(tensor, "_local_tensor") and hasattr(tensor, "device_mesh")


def local(tensor: Tensor) -> Tensor:
    """What of it is here, in its own memory."""
    return tensor.to_local() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]


def local_gradient(gradient: Tensor, param: Tensor) -> Tensor:
    """What of a gradient belongs to what is here of its parameter. One that is cut otherwise, or still to be
    added up, as under sequence parallelism, is brought over by torch."""
    if not is_sharded(gradient):
        return gradient
    if is_sharded(param) and placements(gradient) != placements(param):
        gradient = gradient.redistribute(  # type: ignore[attr-defined]
            param.device_mesh, placements(param)  # type: ignore[attr-defined]
        )
    return local(gradient)


def placements(tensor: Tensor) -> Any:
    """How a sharded tensor is cut."""
    return tensor.placements  # type: ignore[attr-defined]


def shards_of(tensor: Tensor) -> Shards:
    """Raises ValueError for a tensor whose parts must be added up first."""
    if not is_sharded(tensor):
        return None
    found = placements(tensor)
    if any(placement.is_partial() for placement in found):
        raise ValueError(f"has placements {found}, expected shards or replicas")
    cut = tuple(i for i, placement in enumerate(found) if not placement.is_replicate())
    return (tensor.device_mesh, cut)  # type: ignore[attr-defined]


def first_element(tensor: Tensor) -> int:
    """The number of the first element that is here among those of the whole tensor: noise of rounding
    depends on it. Exact where the tensor is cut along its first dimension, as FSDP does; otherwise a
    number that no other machine has."""
    if not is_sharded(tensor):
        return 0
    from torch.distributed.tensor._utils import (  # type: ignore[import]
        compute_local_shape_and_global_offset,
    )

    _, offset = compute_local_shape_and_global_offset(
        tensor.shape, tensor.device_mesh, tensor.placements  # type: ignore[attr-defined]
    )
    number = 0
    for size, start in zip(tensor.shape, offset):
        number = number * size + start
    return int(number)


class Ranks(NamedTuple):
    """Those among which a wrapper has divided the parameters: all make a step, or none."""

    group: Any
    device: Any  #: of what they tell each other


class Exchange:
    """What ranks tell each other in a step: sums of shards, and whether a gradient is not finite.

    Each part of a step gives a row of numbers: the first is not 0 where a gradient is not finite, the
    others are sums over the weights that are here. All parts of a mesh travel in one message. Over dimensions
    of the mesh that replicate a tensor its sums count once: the first replica gives them.
    """

    def __init__(
        self, shards: Sequence[Shards], sums: bool, agree: bool, ranks: Optional[Ranks]
    ) -> None:
        """`sums`: whether they are wanted. `agree`: whether ranks must agree on gradients. `ranks`: those
        that must do so beside the ones of the meshes."""
        self.agree, self.ranks = agree, ranks if agree else None
        #: Of each mesh: its device, the groups of ranks, its parts and whether they are first replicas.
        self.meshes: list[tuple[torch.device, list[Any], list[int], list[bool]]] = []
        seen: list[Any] = []
        for key in shards:
            if key is None or key[0] in seen or not (sums or agree):
                continue
            mesh = key[0]
            seen.append(mesh)
            coordinate = mesh.get_coordinate()
            if coordinate is None:
                continue  # this rank has no part in it
            parts = [i for i, other in enumerate(shards) if other is not None and other[0] == mesh]
            cut = {i: other[1] for i in parts if (other := shards[i]) is not None}
            every = set(range(mesh.ndim)) if agree else {d for one in cut.values() for d in one}
            dimensions = sorted(every)
            first = [
                all(coordinate[d] == 0 for d in dimensions if d not in cut[i]) for i in parts
            ]
            groups = [mesh.get_group(d) for d in dimensions]
            if groups:
                self.meshes.append((torch.device(mesh.device_type), groups, parts, first))
        self.is_needed = bool(self.meshes) or self.ranks is not None

    def __call__(self, rows: list[Tensor], bad: Optional[Tensor]) -> Optional[Tensor]:
        """Replaces the rows by those of all ranks, and gives what is not 0 where any of them has a gradient
        that is not finite; `bad` is that of this rank."""
        if bad is None and self.agree:
            bad = torch.zeros((), dtype=torch.float64)
        for device, groups, parts, first in self.meshes:
            message = torch.stack(  # parameters may be offloaded from the mesh's device
                [
                    rows[i].to(device.type) if one else torch.zeros_like(rows[i], device=device.type)
                    for i, one in zip(parts, first)
                ]
            )
            if bad is not None:
                message[:, 0] = bad.to(message.device)
            for group in groups:
                torch.distributed.all_reduce(message, group=group)
            for i, row in zip(parts, message.unbind()):
                rows[i] = row.to(rows[i].device)
            if bad is not None:
                bad = message[0, 0]
        if self.ranks is not None and bad is not None:
            here = bad.to(self.ranks.device).reshape(1)
            torch.distributed.all_reduce(here, group=self.ranks.group)
            bad = here[0]
        return bad


# ---- Wrappers ------------------------------------------------------------------------------------

#: Classes that give the optimizer they make a part of the parameters, by module.
_WRAPPERS = {
    "torch.distributed.optim.zero_redundancy_optimizer": "ZeroRedundancyOptimizer",
    "fairscale.optim.oss": "OSS",
}


def wrapper_of(optimizer: Any) -> Any:
    """The object of such a class that is making `optimizer`, or None. Told by who called the constructor:
    it passes plain tensors, and nothing else differs."""
    loaded = [
        getattr(sys.modules[module], name, None)
        for module, name in _WRAPPERS.items()
        if module in sys.modules
    ]
    kinds = tuple(kind for kind in loaded if isinstance(kind, type))
    frame: Any = sys._getframe(1)
    while kinds and frame is not None:
        caller = frame.f_locals.get("self")
        if caller is not optimizer and isinstance(caller, kinds):
            return caller
        frame = frame.f_back
    return None


def ranks_of(wrapper: Any) -> Ranks:
    group = getattr(wrapper, "process_group", None) or getattr(wrapper, "group", None)
    return Ranks(group, getattr(wrapper, "_default_device", "cpu"))


def refuse_part_of_a_scope(optimizer: Any, wrapper: Any) -> None:
    """Raises where `optimizer`, whose matrix is over several parameters, is given only some of them: its
    meaning would depend on the number of machines."""
    raise RuntimeError(
        f"{type(optimizer).__name__} inside {type(wrapper).__name__} would have a matrix over "
        "the parameters of one rank, not over the model: give scope=\"tensor\" (a matrix for "
        "each parameter), or use FSDP2 (fully_shard), or the optimizer itself on every rank"
    )


def is_flat_shard(tensor: Tensor) -> bool:
    """Whether it is a piece of FullyShardedDataParallel (FSDP1): a plain tensor with what is here of one
    or several parameters."""
    return bool(getattr(tensor, "_fsdp_flattened", False))
