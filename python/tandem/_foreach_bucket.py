# SPDX-License-Identifier: MIT
"""What the rules in plain torch (_foreach.py) are given, and the rates that they step with."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor

from . import _lists, _rounding
from ._lists import Number, Tensors


class Bucket(NamedTuple):
    """Parameters that are stepped together: those of one group, or of one scope of RO-TO or
    Full-TO, that have one device, one type and one step count."""

    rule: str
    params: Tensors  #: plain local tensors
    grads: list[Optional[Tensor]]  #: None: left out of this step, in a scope of RO-TO
    state: dict[str, Tensors]  #: arrays like the parameters, by key
    unit: Any  #: Full-TO: a dict; Block-TO: a dict for each parameter; filled when empty
    options: list[dict[str, Any]]  #: of each parameter; in a scope lr and weight_decay may differ
    step: Union[int, Tensor]  #: the number of this step, from 1
    epoch: int
    scalars: dict[str, Any]  #: mu_product, c_known; changed in place

    @property
    def capturable(self) -> bool:
        """Whether nothing may be read on the host."""
        return bool(self.options[0].get("capturable", False))

    @property
    def device(self) -> torch.device:
        return self.params[0].device

    @property
    def compute_type(self) -> torch.dtype:
        return _rounding.compute_type(self.params[0].dtype)


def sum_type(device: torch.device) -> torch.dtype:
    """What sums and rates are computed in: double, where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def rate(bucket: Bucket, value: Any) -> Number:
    """An option as a Python number; a tensor stays one if nothing may be read on the host."""
    if isinstance(value, Tensor) and bucket.capturable:
        return value.to(device=bucket.device, dtype=sum_type(bucket.device)).reshape(())
    return float(value)


def is_zero(number: Number) -> bool:
    """Whether it is known to be 0."""
    return not isinstance(number, Tensor) and number == 0


def cast(number: Number, dtype: torch.dtype) -> Number:
    """In the type of the arrays that it is used with."""
    return number.to(dtype) if isinstance(number, Tensor) else number


#: Rules whose weight_decay is torch's of old: it is added to the gradient.
_COUPLED = frozenset(("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam"))


class Update(NamedTuple):
    """w <- shrink * w - lr * D; None is a factor of 1."""

    lr: Number
    shrink: Optional[Number]

    def move(self, w: Tensors, direction: Tensors) -> None:
        self.decay(w)
        _lists.add_(w, direction, -self.lr)

    def decay(self, w: Tensors) -> None:
        if self.shrink is not None:
            _lists.mul_(w, self.shrink)


def update_of(bucket: Bucket, options: dict[str, Any]) -> Update:
    """By the rates of a parameter's group."""
    lr = rate(bucket, options["lr"])
    shrink: Optional[Number] = None
    decay = rate(bucket, options.get("weight_decay", 0.0))
    if bucket.rule not in _COUPLED and not is_zero(decay):
        shrink = cast(1 - lr * decay, bucket.compute_type)
    return Update(cast(lr, bucket.compute_type), shrink)


def gradients(bucket: Bucket, w: Tensors, grads: Tensors) -> Tensors:
    """The gradients of some weights as the estimator takes them, in the weights' type."""
    options = bucket.options[0]
    g = _rounding.widen(grads, w[0].dtype, copy=False)
    if options.get("maximize", False):
        g = _lists.neg(g)
    name = "weight_decay" if bucket.rule in _COUPLED else "l2"
    l2 = rate(bucket, options.get(name, 0.0))
    return g if is_zero(l2) else _lists.plus(g, w, cast(l2, w[0].dtype))


def step_number(bucket: Bucket) -> Number:
    """The number of this step."""
    step = bucket.step
    return step.to(sum_type(bucket.device)) if isinstance(step, Tensor) else float(step)


def carry(bucket: Bucket, name: str, value: Number, ok: Optional[Tensor]) -> None:
    """Changes a carried scalar."""
    held = bucket.scalars[name]
    if isinstance(held, Tensor):
        new = torch.as_tensor(value, dtype=held.dtype, device=held.device)
        held.copy_(new if ok is None else torch.where(ok, new, held))
    else:
        bucket.scalars[name] = value
