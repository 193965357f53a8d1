# SPDX-License-Identifier: MIT
"""Wrappers that take optimizers apart: ZeroRedundancyOptimizer and its kind.

They carry `state` and `param_groups` from one optimizer to another by themselves. What our optimizers
remember is in their native part, which such a wrapper does not see and would lose: a run resumed from
its checkpoint would start with an empty state. Until the state has a home that they know, they are
refused.
"""

from __future__ import annotations

import sys
from typing import Any, Iterable, NoReturn

#: Classes that build the optimizer they wrap, by module.
SHARDING = {
    "torch.distributed.optim.zero_redundancy_optimizer": "ZeroRedundancyOptimizer",
    "fairscale.optim.oss": "OSS",
}

ADVICE = (
    "Use the optimizer itself on every rank: under DistributedDataParallel all ranks have the same "
    "state, so that state_dict() of one of them is the whole checkpoint"
)


def refuse_sharding(optimizer: Any) -> None:
    """Raises where `optimizer` is being made by a class of SHARDING.

    That is told by who called the constructor: nothing else differs. Later would be too late: the
    ranks consolidate their states together, and one that raises there leaves the others waiting.
    """
    loaded = [
        getattr(sys.modules[module], name, None)
        for module, name in SHARDING.items()
        if module in sys.modules
    ]
    kinds = tuple(kind for kind in loaded if isinstance(kind, type))
    frame = sys._getframe(1)
    while kinds and frame is not None:
        caller = frame.f_locals.get("self")
        if caller is not optimizer and isinstance(caller, kinds):
            raise RuntimeError(
                f"{type(optimizer).__name__} cannot be sharded by {type(caller).__name__}: it "
                "would lose the state in consolidate_state_dict() and load_state_dict(). " + ADVICE
            )
        frame = frame.f_back  # type: ignore[assignment]


class NoState(dict):
    """`optimizer.state` of our optimizers: always empty, and nothing can be put into it. The state
    itself is given by state_dict() and state_of()."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(
            "optimizer.state of tandem's optimizers cannot be written: the state is in their native "
            "part and would not change. Load it with load_state_dict(), as state_dict() gave it. "
            "(A wrapper that shards optimizers, such as ZeroRedundancyOptimizer, does this: it is "
            "not supported. " + ADVICE + ".)"
        )

    def __missing__(self, key: Any) -> "NoState":
        return NoState()  # as torch's: what is not there is empty

    __setitem__ = setdefault = update = __ior__ = _refuse  # type: ignore[assignment]


def explain_missing_state(keys: Iterable[str], optimizer: str) -> str:
    """Why a state dict cannot be loaded that has no part of ours."""
    message = f"loaded state dict is not of an optimizer of tandem, expected one of {optimizer}"
    if set(keys) >= {"state", "param_groups"}:
        message += (
            "; if it came from one, something has kept 'state' and 'param_groups' only and dropped "
            "'tandem', without which the state is not whole (ZeroRedundancyOptimizer, FSDP's "
            "optimizer states and torch.distributed.checkpoint do so). " + ADVICE
        )
    return message
