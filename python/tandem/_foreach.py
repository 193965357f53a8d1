# SPDX-License-Identifier: MIT
"""Every rule in plain torch, `torch._foreach_*`, for tensors of any device and type: what the
fused kernels do on a CPU, with the same state.

A step has two phases, as in C++. `gather` looks: whether the gradient is finite, and the sums over
all weights that RO-TO needs. `apply` moves weights and state. Between them the sums may be added up
over the processes of a sharded model.

With `capturable` neither reads a value on the host, so that a step can be captured in a CUDA graph
and compiled whole: rates, step and carried scalars are then tensors, and so is `ok`, the verdict on
the gradient. Arithmetic is that of src/kernels/pass-inl.h: gradients first get l2 * w, the
estimator turns them into G, the scaling into D, and w <- w (1 - lr weight_decay) - lr D. Arrays in
bfloat16 and half are computed in float, see _rounding.py.
"""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from . import _foreach_elementwise, _foreach_matrix, _foreach_rank_one, _lists
from ._foreach_bucket import Bucket as Bucket
from ._foreach_bucket import sum_type
from ._lists import Tensors


def gather(bucket: Bucket) -> Tensor:
    """What a step must know of all weights before it moves any, as the eight numbers
    [nonfinite, ga, cw, ww, aa, ab, all_ww, 0] on the parameters' device: 1 where a gradient holds
    NaN or infinity and is looked at, then the sums of RO-TO. Changes nothing, but fills new units
    with starting values. Raises where a step on this state is not possible."""
    grads = [g for g in bucket.grads if g is not None and g.numel() > 0]
    sums = torch.zeros(8, dtype=sum_type(bucket.device), device=bucket.device)
    if bucket.options[0].get("on_nonfinite", "raise") != "ignore" and grads:
        sums[0] = _nonfinite(grads)
    if bucket.rule == "ro-to":
        _foreach_rank_one.add_sums(bucket, sums)
    elif bucket.rule in ("full-to", "block-to"):
        _foreach_matrix.prepare(bucket)
    return sums


def _nonfinite(grads: Tensors) -> Tensor:
    """Whether any is NaN or infinite. Extremes tell: they take over every NaN, and unlike a sum do
    not overflow."""
    if grads[0].device.type != "cpu" or _lists.is_compiling():
        extremes = _lists.largest(grads)
    else:
        extremes = []  # torch's norm is slow here
        for (piece,) in _lists.pieces([grads]):
            part = _lists.flat(piece)
            extremes += torch.aminmax(part.float() if part.dtype == torch.float16 else part)
    return torch.isfinite(torch.stack(extremes)).all().logical_not()


def apply(bucket: Bucket, sums: Tensor, ok: Optional[Tensor]) -> None:
    """The step, from what `gather` gave. `ok` is a 0-dim bool tensor: where it is False nothing
    changes; None is an unconditional step."""
    if bucket.rule == "ro-to":
        _foreach_rank_one.step(bucket, sums, ok)
    elif bucket.rule in ("full-to", "block-to"):
        _foreach_matrix.step(bucket, ok)
    else:
        _foreach_elementwise.step(bucket, ok)
